"""What the services in Python have in common: reading settings, and starting."""
