// The printed book: its print page through the system's Chromium, with an outline to jump by and tags for those who listen.
// `npm ci --ignore-scripts --omit=optional`, then `node pdf.mjs FILE`, which reads book-html of the checkout, or the folder after FILE.
// With `--core`, only the pages of the core way.
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

/** Tells what keeps this from being done, and ends with the exit code for that. */
function giveUp(what, next) {
    console.error(`error: ${what}\nnext: ${next}`);
    process.exit(2);
}

/** A browser for the book in this folder. */
export async function open(book) {
    if (!existsSync(resolve(book, 'print.html'))) {
        giveUp(`there is no book in ${book}`, 'just book, in the root of the checkout');
    }
    const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
    if (!executablePath) {
        giveUp('there is no Chromium', 'apt install chromium, or set CHROMIUM to where it is');
    }
    return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** The pages of the book as one file: all of them, or those of the core way. */
export async function printPdf(browser, book, { core = false } = {}) {
    const page = await browser.newPage();
    // mdBook's page opens the dialog by itself, and a page is printed once at a time.
    await page.addInitScript(() => { window.print = () => {}; });
    await page.goto(pathToFileURL(resolve(book, 'print.html')).href);
    if (core) {
        await page.evaluate(keepTheCoreWay);
    }
    const margin = { top: '12mm', bottom: '12mm', left: '10mm', right: '10mm' };
    // The text of a screen is twelve points high; a book's is ten.
    const printed = await page.pdf({ format: 'A4', margin, scale: 0.78, outline: true, tagged: true, timeout: 0 });
    await page.close();
    return printed;
}

/** Runs in the browser: mdBook has a break before each page but the first, and the tool a mark on each page of the core way. */
function keepTheCoreWay() {
    const pages = [[]];
    for (const node of document.querySelector('main').childNodes) {
        if (node.style?.breakBefore === 'page') {
            pages.push([]);
        }
        pages.at(-1).push(node);
    }
    const isCore = nodes => nodes.some(node => node.querySelector?.('.core-way') || node.classList?.contains('core-way'));
    pages.filter(nodes => !isCore(nodes)).flat().forEach(node => node.remove());
    // Only an exercise begins a sheet of its own.
    const isExercise = nodes => nodes.some(node => node.matches?.('h1') && node.textContent.includes('Exercise'));
    pages.filter(nodes => isCore(nodes) && !isExercise(nodes)).forEach(([first]) => first.style?.setProperty('break-before', 'auto'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const { values: { core }, positionals } = parseArgs({ allowPositionals: true, options: { core: { type: 'boolean' } } });
    const [file, book = new URL('../../../book-html', import.meta.url).pathname] = positionals;
    file ?? giveUp('where should the PDF go?', 'just pdf kotlin-to-rust.pdf');
    const browser = await open(book);
    try {
        const printed = await printPdf(browser, book, { core });
        // As seen from where just was called.
        const place = resolve(process.env.WORKSHOP_CALLED_FROM ?? '.', file);
        writeFileSync(place, printed);
        console.log(`${place}: ${(printed.length / 1e6).toFixed(1)} MB`);
    } finally {
        await browser.close();
    }
}
