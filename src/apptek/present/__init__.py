"""Results for people: text, HTML pages and tables, and every English sentence in them."""
