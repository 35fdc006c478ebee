// What a machine can see of the built book, in the system's Chromium: axe-core finds nothing that is this book's to fix on some
// kinds of pages, no two texts of the printed book lie on top of each other, a talk on the projector draws a beat with each key, and a
// question is answered, and the katas run by a stand-in for the playground.
// `npm ci --ignore-scripts --omit=optional`, then `node check.mjs`, which reads book-html of the checkout, or the folder it is given.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { open, printPdf } from './pdf.mjs';
import * as reading from './reading.mjs';

// Text is read without drawing, so what only drawing needs is never called.
Object.assign(globalThis, { DOMMatrix: class {}, ImageData: class {}, Path2D: class {} });
const { getDocument, VerbosityLevel } = await import('pdfjs-dist/legacy/build/pdf.mjs');

const book = resolve(process.argv[2] ?? new URL('../../../book-html', import.meta.url).pathname);
const PAGES = [
    'preface', 'setting-up', 'the-port/who-owns-the-settings', 'your-results', 'instructors/in-the-room', 'exercises/00-warm-up', 'exercises/03-read-a-record', 'exercises/08-ship-it',
    'exercises/20-route-by-route', 'exercises/12-waiting-for-others', 'contract', 'cheat-sheet', 'for-instructors',
    'instructors/talks', 'instructors/answer-sheets',
];
// Every page is looked at on the wide screen, and those above on each.
const SCREENS = [
    { width: 1400, height: 900, colorScheme: 'light', everyPage: true },
    { width: 390, height: 844, colorScheme: 'dark' },
    { width: 1400, height: 900, colorScheme: 'dark', forcedColors: 'active' },
];
const NO_PAGES = ['index', 'print', 'toc', '404'];
const everyPage = () => readdirSync(book, { recursive: true })
    .filter(file => file.endsWith('.html')).map(file => file.slice(0, -'.html'.length)).filter(name => !NO_PAGES.includes(name)).sort();
// Those with pictures in lines, which take the theme's colors.
const PICTURES = ['the-port/absent-wrong-broken', 'the-port/cancellation-is-drop', 'under-load/where-the-permit-goes'];
// The most printed pages of the core way alone.
const CORE_SHEETS = 160;
// mdBook's own: a label that is a button.
const NOT_OURS = ['#mdbook-sidebar-toggle'];
const faults = [];

async function accessibility(browser) {
    const axe = createRequire(import.meta.url).resolve('axe-core');
    for (const { width, height, colorScheme, forcedColors = 'none', everyPage: isEvery = false } of SCREENS) {
        const context = await browser.newContext({ viewport: { width, height }, colorScheme, forcedColors });
        for (const name of new Set([...PAGES, ...isEvery ? everyPage() : []])) {
            const file = resolve(book, `${name}.html`);
            if (!existsSync(file)) {
                faults.push(`${name}: this page is gone; take it out of PAGES in tests/book/browser/check.mjs, or correct its name`);
                continue;
            }
            const page = await context.newPage();
            page.on('pageerror', error => faults.push(`${name}: a script fails: ${error.message}`));
            await page.goto(pathToFileURL(file).href);
            await page.evaluate(() => document.querySelectorAll('main details').forEach(fold => fold.open = true));
            await page.addScriptTag({ path: axe });
            const { violations } = await page.evaluate(notOurs => axe.run({ exclude: notOurs }), NOT_OURS);
            for (const { id, help, nodes } of violations) {
                const [{ html }] = nodes;
                faults.push(`${name}, ${width} px, ${colorScheme}${forcedColors === 'active' ? ', forced colors' : ''}: ${id} (${nodes.length}): ${help}: ${html.slice(0, 160)}`);
            }
            const wider = await page.evaluate(() => {
                // The text scrolls sideways by itself, so the page would never be wider.
                const text = document.getElementById('mdbook-content');
                return Math.max(document.documentElement.scrollWidth - innerWidth, text.scrollWidth - text.clientWidth);
            });
            if (wider > 0) {
                faults.push(`${name}, ${width} px: the page is ${wider} px wider than the window`);
            }
            await page.close();
        }
        await context.close();
    }
}

/** The texts of a page with the rectangles that their small letters take. */
function textsOf(items) {
    return items.filter(({ str }) => str.trim() !== '').map(({ str, width, transform: [, , , size, x, y] }) => (
        { str: str.trim(), left: x, right: x + width, bottom: y, top: y + Math.abs(size) * 0.5 }
    ));
}

/** The first pair of texts of which one is painted over the other. The words of charts are painted twice: an outline, and letters. */
function overlapping(texts) {
    for (const [at, one] of texts.entries()) {
        const other = texts.slice(at + 1).find(other => {
            const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
            const down = Math.min(one.top, other.top) - Math.max(one.bottom, other.bottom);
            const isTwice = one.str.includes(other.str) || other.str.includes(one.str);
            return across > 3 && down > 1.5 && !isTwice;
        });
        if (other) {
            return [one.str, other.str];
        }
    }
    return null;
}

async function printedPages(browser, what) {
    const data = new Uint8Array(await printPdf(browser, book, what));
    return getDocument({ data, verbosity: VerbosityLevel.ERRORS }).promise;
}

/** The core way alone is a stack that one carries along. */
async function printCore(browser) {
    const { numPages } = await printedPages(browser, { core: true });
    if (numPages > CORE_SHEETS) {
        faults.push(`print.html: the core way alone has ${numPages} printed pages, and at most ${CORE_SHEETS} are allowed`);
    }
    return numPages;
}

async function print(browser) {
    const printed = await printedPages(browser);
    for (let number = 1; number <= printed.numPages; number++) {
        const { items } = await (await printed.getPage(number)).getTextContent();
        const pair = overlapping(textsOf(items));
        if (pair) {
            faults.push(`print.html, page ${number}: "${pair[0]}" and "${pair[1]}" are printed over each other`);
        }
    }
    return printed.numPages;
}

/** The room sees the drawing of a talk grow, and neither its table nor what people ask. */
async function talk(browser) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(`${pathToFileURL(resolve(book, 'instructors/talks.html')).href}?projector#the-port`);
    const seen = () => page.evaluate(() => {
        const isSeen = element => element.checkVisibility({ visibilityProperty: true });
        return {
            strokes: [...document.querySelectorAll('.board [data-beat]')].filter(isSeen).length,
            prose: [...document.querySelectorAll('main table, main p, main ul')].filter(isSeen).length,
        };
    });
    const first = await seen();
    await page.keyboard.press('ArrowRight');
    const second = await seen();
    if (first.strokes !== 1 || second.strokes !== 2 || first.prose + second.prose > 0) {
        faults.push(`instructors/talks on the projector: expected 1 stroke, then 2, and no prose; got ${JSON.stringify([first, second])}`);
    }
    await page.close();
}

/** A question is answered by the keyboard, with and without scripts, and the first answer is kept and counted. */
async function question(browser) {
    const fault = (what, got) => faults.push(`the-port/who-owns-the-settings, a question: ${what}; got ${JSON.stringify(got)}`);
    for (const javaScriptEnabled of [true, false]) {
        const context = await browser.newContext({ javaScriptEnabled });
        const page = await context.newPage();
        await page.goto(pathToFileURL(resolve(book, 'the-port/who-owns-the-settings.html')).href);
        const choice = page.locator('.question .choice').first();
        await choice.locator('summary').focus();
        await page.keyboard.press('Enter');
        const why = await choice.locator('p').isVisible();
        why || fault(`Enter shows why, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, why);
        if (javaScriptEnabled) {
            const said = await page.locator('.told').textContent();
            said.startsWith('No.') || fault('what is opened is said aloud', said);
            await page.goto(pathToFileURL(resolve(book, 'your-results.html')).href);
            const counted = await page.locator('.own-answers').textContent();
            counted.includes('Answered: 1. Right at the first try: 0.') || fault('one answer is counted', counted);
            await page.goto(pathToFileURL(resolve(book, 'instructors/in-the-room.html')).href);
            await page.locator('.room-answers textarea').fill('moved-list a-; x b+\nmoved-list b+');
            const row = await page.locator('.room-answers tbody tr').first().innerText();
            /^moved-list\s+2\s+1\s+a: 1$/.test(row) || fault('the room is counted', row);
        }
        await context.close();
    }
}

/** What the playground answers to this code with its tests, by the rustc of this machine. */
function playground({ code }) {
    const folder = mkdtempSync(join(tmpdir(), 'kata-'));
    try {
        writeFileSync(join(folder, 'main.rs'), code);
        const built = spawnSync('rustc', ['--edition', '2024', '--test', 'main.rs', '-o', 'kata'], { cwd: folder, encoding: 'utf8' });
        const ran = built.status === 0 ? spawnSync(join(folder, 'kata'), { encoding: 'utf8' }) : built;
        return { success: ran.status === 0, stdout: ran.stdout, stderr: built.stderr };
    } finally {
        rmSync(folder, { recursive: true });
    }
}

/** Each kata is red as it is, green with the reference, and says so where code doesn't compile or there is no network. */
async function katas(browser) {
    const references = new URL('../../../solutions/00-warm-up/tests', import.meta.url).pathname;
    const fault = (name, what, got) => faults.push(`exercises/00-warm-up, kata ${name}: ${what}; it says ${got}`);
    const page = await browser.newPage();
    let isAway = false;
    const asked = [];
    await page.route(/^https?:/, route => {
        asked.push(route.request().url());
        if (isAway) {
            return route.abort();
        }
        const body = JSON.stringify(playground(route.request().postDataJSON()));
        return route.fulfill({ body, contentType: 'application/json', headers: { 'Access-Control-Allow-Origin': '*' } });
    });
    await page.goto(pathToFileURL(resolve(book, 'exercises/00-warm-up.html')).href);
    if (asked.length > 0) {
        fault('any', 'nothing is asked before the button is pressed', asked[0]);
    }
    const all = await page.locator('.kata-here').all();
    if (all.length !== 12) {
        fault('any', 'twelve katas are on the page', all.length);
    }
    for (const kata of all) {
        const name = await kata.getAttribute('data-kata');
        const run = async (code, expected) => {
            if (code !== null) {
                await kata.locator('textarea').fill(code);
            }
            await kata.getByRole('button', { name: 'Run the tests' }).click();
            await kata.locator('button:disabled').waitFor({ state: 'detached' });
            const said = await kata.locator('.kata-said').textContent();
            said.startsWith(expected) || fault(name, `"${expected} …" is expected`, said);
        };
        await kata.locator('summary').first().click();
        await run(null, 'Red: ');
        const file = readdirSync(references).find(file => file.startsWith(`kata_${name}_`));
        const [reference] = readFileSync(join(references, file), 'utf8').split('#[test]');
        await run(reference, 'Green: ');
        if (name === 'a') {
            await run('fn label(', 'It doesn’t compile.');
            isAway = true;
            await run(reference, 'The playground can’t be reached');
            isAway = false;
        }
    }
    await page.close();
}

const browser = await open(book);
let printed;
let printedCore;
try {
    await accessibility(browser);
    await talk(browser);
    await question(browser);
    await katas(browser);
    const fault = found => faults.push(found);
    await reading.keys(browser, book, fault);
    await reading.codeByKeyboard(browser, book, fault);
    await reading.forcedColors(browser, book, [...PAGES, ...PICTURES], fault);
    await reading.zoomed(browser, book, PAGES, fault);
    await reading.withoutScripts(browser, book, everyPage(), fault);
    await reading.aloud(browser, book, fault);
    printed = await print(browser);
    printedCore = await printCore(browser);
} finally {
    await browser.close();
}
for (const fault of faults) {
    console.log(fault);
}
console.log(faults.length === 0
    ? `the book is whole in a browser: ${PAGES.length} pages on ${SCREENS.length} screens, ${printed} printed pages, ${printedCore} of the core way`
    : `${faults.length} faults of the book in a browser`);
process.exitCode = faults.length === 0 ? 0 : 1;
