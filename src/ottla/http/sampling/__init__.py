"""What clusters did lately: offsets and sizes, looked at now and then."""
