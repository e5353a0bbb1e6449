"""Using a model from elsewhere: a server with its page."""
