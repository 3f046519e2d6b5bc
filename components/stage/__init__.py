"""The moving charts: the browser holds the tape, and the server sends rows, sentences and answers as they come."""
