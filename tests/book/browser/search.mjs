// Asks the search of a built book, as its pages do, without a browser: `node search.mjs FOLDER QUERY…` prints for each query one line
// of JSON, an array of the addresses that it finds, the best first.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runInThisContext } from 'node:vm';

const [folder, ...queries] = process.argv.slice(2);

/** Runs the script of this name, which mdBook has given a hash, as a page loads it. */
function load(within, name) {
    const file = readdirSync(resolve(folder, within)).find(file => file.startsWith(name) && file.endsWith('.js'));
    runInThisContext(readFileSync(join(folder, within, file), 'utf8'), { filename: file });
}

globalThis.window = globalThis;
window.search = {};
load('.', 'elasticlunr');
load('book/theme', 'search');
load('.', 'searchindex');

const { index, search_options, results_options, doc_urls } = window.search;
const loaded = elasticlunr.Index.load(index);
for (const query of queries) {
    const hits = loaded.search(query, search_options).slice(0, results_options.limit_results);
    console.log(JSON.stringify(hits.map(hit => doc_urls[hit.ref])));
}
