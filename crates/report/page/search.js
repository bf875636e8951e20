// What is searched for: words that must occur in the name, /…/ a regular expression, file: image: kind: with a part of theirs;
// a - before any of them leaves out what it finds.

/** A test for regions; an error text instead where a regular expression is none. */
export function searchOf(query, model) {
  const tests = [];
  for (const written of query.match(/-?\/(?:\\.|[^/\\])+\/|\S+/g) || []) {
    const isLeftOut = written.length > 1 && written.startsWith("-");
    const word = isLeftOut ? written.slice(1) : written;
    const add = (test) => tests.push((region) => test(region) !== isLeftOut);
    const [, key, rest] = /^(file|image|kind):(.*)$/.exec(word) || [];
    if (key === "file") add((region) => model.file(region).toLowerCase().includes(rest.toLowerCase()));
    else if (key === "image") add((region) => model.strings.images[model.regions.image[region]].toLowerCase().includes(rest.toLowerCase()));
    else if (key === "kind") add((region) => model.kind(region).includes(rest.toLowerCase()));
    else if (word.length > 2 && word.startsWith("/") && word.endsWith("/")) {
      let pattern;
      try {
        pattern = new RegExp(word.slice(1, -1), "i");
      } catch (error) {
        return { error: `${word} is no regular expression: ${error.message}` };
      }
      add((region) => pattern.test(model.strings.names[region]));
    } else add((region) => model.strings.names[region].toLowerCase().includes(word.toLowerCase()));
  }
  return { test: (region) => tests.every((test) => test(region)), isEmpty: tests.length === 0 };
}

/** What finds exactly this name. */
export function exactly(name) {
  return `/^${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$/`;
}

/** Which regions are hits, how many, and how much of what is shown is theirs. */
export function hitsOf(query, model) {
  const search = searchOf(query, model);
  if (search.error || search.isEmpty) return { error: search.error, flags: null, number: 0, time: 0 };
  const flags = new Uint8Array(model.regions.rows);
  let number = 0;
  let time = 0;
  for (let region = 0; region < flags.length; region++) {
    if (model.isMet(region) && search.test(region)) {
      flags[region] = 1;
      number++;
      time += model.regionExclusive(region);
    }
  }
  return { flags, number, time };
}
