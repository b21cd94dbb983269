"""Parts of every page: formats, charts, JSON and Markdown views, icons, template engines, languages, page errors."""
