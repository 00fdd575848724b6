"""The edge of the service: connections, who may use it, how much a request may ask for."""
