"""The console: server-rendered pages about a cluster. One page, one module, one template."""
