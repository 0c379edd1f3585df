"""The page to try the API: /docs/, and the description that it draws."""
