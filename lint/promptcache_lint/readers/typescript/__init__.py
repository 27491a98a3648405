"""An abstract run of TypeScript and JavaScript, parsed by tree-sitter (extra ``[ts]``)."""
