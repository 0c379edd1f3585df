"""The clusters that the service talks to, each with clients for every caller."""
