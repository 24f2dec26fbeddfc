// [data-origin]: a command to copy names the server under which the reader sees it.
const tell = () => { for (const one of document.querySelectorAll("[data-origin]")) one.textContent = location.origin; };
for (const name of ["DOMContentLoaded", "htmx:after:swap"]) document.addEventListener(name, tell);
