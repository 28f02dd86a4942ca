// Searches the names of the Swift and C interfaces, the guides and the items of the behaviour list.
const field = document.getElementById("search");
const found = document.getElementById("found");
const limit = 40;
let entries = null;

async function search() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    entries ??= await (await fetch(field.dataset.index)).json();
    found.replaceChildren();
    if (words.length === 0) return;
    const hits = entries
        .filter(entry => words.every(word => entry.text.toLowerCase().includes(word)))
        .sort((one, other) => one.text.length - other.text.length);
    for (const hit of hits.slice(0, limit)) {
        const line = document.createElement("li");
        const link = document.createElement("a");
        link.href = hit.url;
        link.textContent = hit.text;
        const kind = document.createElement("span");
        kind.textContent = hit.kind;
        line.append(link, kind);
        found.append(line);
    }
    if (hits.length === 0) found.textContent = "Nothing was found.";
    if (hits.length > limit) found.append(`and ${hits.length - limit} more`);
}

field.addEventListener("input", search);
if (location.hash.startsWith("#find=")) {
    field.value = decodeURIComponent(location.hash.slice(6));
    search();
}
