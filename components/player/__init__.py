"""The moving charts: the browser holds the log, and the server sends rows, sentences and answers as they come."""
