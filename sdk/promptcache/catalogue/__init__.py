"""The texts of the catalogue of causes, one module a family; read them through `promptcache.causes`."""
