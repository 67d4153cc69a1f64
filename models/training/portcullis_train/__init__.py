"""Training pipeline of the Portcullis screening model."""
