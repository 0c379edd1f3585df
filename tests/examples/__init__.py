"""The examples do what they say, in processes that are killed."""
