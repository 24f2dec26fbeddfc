"""What a person or a program reads: pages, streams, JSON; `render` is the only caller of Jinja."""
