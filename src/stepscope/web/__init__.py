"""The same answers as a web page on this machine. Needs the extra `web`."""
