"""The engine on a GPU: pages, steps and draws that stay there, and what is compiled and recorded before.

Import from the modules: ``transfers`` is for every device, the others are needed where Triton computes, and
``setup`` imports them when it finds that it does. What the kernels compute is in ``kernels``.
"""
