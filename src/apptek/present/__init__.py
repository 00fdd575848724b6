"""Results for people: text, HTML pages and tables, and every English sentence about them."""
