// Other ways to read the book than with a mouse and good eyes: by keys of any layout, in the system's colors, at 200 and 400 % zoom, without
// scripts, and aloud. Each function looks at the built book in this folder and hands each fault that it finds to `fault`.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const url = (book, name) => pathToFileURL(resolve(book, `${name}.html`)).href;

/** A key as a layout has it: its place, and what it writes there. */
async function press(page, code, key, { shift = false } = {}) {
    const session = await page.context().newCDPSession(page);
    const event = { code, key, text: key.length === 1 ? key : '', modifiers: shift ? 8 : 0 };
    await session.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    await session.detach();
}

/** The keys do what the help says on a Latin and on a Cyrillic layout, with Shift, and with the setting off nothing. */
export async function keys(browser, book, fault) {
    const name = 'the-port/who-owns-the-settings';
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await context.newPage();
    const isProjected = () => page.evaluate(() => document.documentElement.classList.contains('projector'));
    const isSearched = () => page.locator('#mdbook-searchbar').isVisible();
    const isHelped = () => page.locator('#mdbook-help-popup').isVisible();
    const expect = async (what, got, wanted) => (await got) === wanted || fault(`${name}, keys: ${what}`);
    const anew = async () => {
        await page.goto(url(book, name));
        await page.locator('#mdbook-search-toggle').waitFor();
    };
    for (const [layout, code, key, shift] of [
        ['a Latin', 'KeyP', 'p', false], ['a Latin', 'KeyP', 'P', true], ['Dvorak’s', 'KeyR', 'p', false],
        ['a Cyrillic', 'KeyP', 'з', false], ['a Greek', 'KeyP', 'π', false], ['a Hebrew', 'KeyP', 'פ', false],
    ]) {
        await anew();
        await press(page, code, key, { shift });
        await expect(`${key} on ${layout} layout opens the projector`, isProjected(), true);
    }
    for (const [code, key] of [['KeyS', 's'], ['Slash', '/'], ['KeyS', 'ы'], ['KeyS', 'σ']]) {
        await anew();
        await press(page, code, key);
        await expect(`${key} opens the search`, isSearched(), true);
    }
    await page.locator('#mdbook-searchbar').focus();
    await press(page, 'KeyP', 'p');
    await press(page, 'KeyP', 'з');
    await expect('a letter in the search field is a letter', isProjected(), false);

    await anew();
    await press(page, 'KeyP', 'l');
    await expect('Dvorak’s key at the place of the P is no P', isProjected(), false);
    await press(page, 'Slash', '?', { shift: true });
    await expect('? opens the help', isHelped(), true);
    const focused = () => page.evaluate(() => document.activeElement.closest('#mdbook-help-popup') !== null);
    await expect('the focus is in the help', focused(), true);
    await page.keyboard.press('Space');
    for (let tab = 0; tab < 3; tab++) {
        await page.keyboard.press('Tab');
        await expect('the focus stays in the help', focused(), true);
    }
    await page.keyboard.press('Escape');
    await expect('Escape closes the help', isHelped(), false);
    for (const [code, key] of [['KeyP', 'p'], ['KeyP', 'з'], ['KeyS', 's'], ['Slash', '/'], ['Slash', '?']]) {
        await press(page, code, key);
    }
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(300);
    const isThere = () => page.evaluate(name => location.pathname.endsWith(`${name}.html`), name);
    await expect('with the setting off no letter opens the projector', isProjected(), false);
    await expect('with the setting off no letter opens the search', isSearched(), false);
    await expect('with the setting off no letter opens the help', isHelped(), false);
    await expect('with the setting off no arrow turns the page', isThere(), true);
    await page.goto(url(book, 'preface'));
    await press(page, 'KeyP', 'p');
    await expect('the setting holds for the next page', isProjected(), false);
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await page.getByRole('checkbox', { name: 'These keys' }).check();
    await page.getByRole('button', { name: 'Close' }).click();
    await press(page, 'KeyP', 'p');
    await expect('the setting can be taken back', isProjected(), true);
    await context.close();
}

/** Each block of code that scrolls is reached by Tab, scrolled by arrows on the same page, and left; so is each kata's editor. */
export async function codeByKeyboard(browser, book, fault) {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    for (const name of ['exercises/03-read-a-record', 'exercises/00-warm-up']) {
        await page.goto(url(book, name));
        await page.evaluate(() => {
            document.querySelectorAll('main details').forEach(fold => fold.open = true);
            dispatchEvent(new Event('resize'));
        });
        const stops = await page.evaluate(() => {
            const scrolls = element => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible';
            const inside = [...document.querySelectorAll('main pre > code, main .table-wrapper, main .picture-frame, main textarea')];
            const wanted = inside.filter(element => element.matches('textarea') || scrolls(element));
            wanted.forEach((element, at) => element.dataset.stop = at);
            return wanted.length;
        });
        // Chromium reaches what scrolls by itself. Other browsers don't, and a name is always ours to give.
        const bare = await page.evaluate(() => [...document.querySelectorAll('[data-stop]:not(textarea, [tabindex="0"][aria-label])')].length);
        bare === 0 || fault(`${name}, keyboard: ${bare} blocks that scroll have no tabindex or no name`);
        stops > 3 || fault(`${name}, keyboard: ${stops} blocks scroll at 390 px; are they found?`);
        const reached = new Set();
        const most = await page.evaluate(() => document.querySelectorAll('a, button, input, textarea, summary, [tabindex]').length);
        await page.locator('main h1 a').focus();
        for (let tab = 0; tab < most; tab++) {
            await page.keyboard.press('Tab');
            const at = await page.evaluate(() => document.activeElement.dataset?.stop);
            if (at !== undefined && reached.has(at)) {
                fault(`${name}, keyboard: Tab comes to stop ${at} twice: it’s a trap, or the end was missed`);
                break;
            }
            at === undefined || reached.add(at);
            if (await page.evaluate(() => document.activeElement === document.body)) {
                break;
            }
        }
        reached.size === stops || fault(`${name}, keyboard: Tab reaches ${reached.size} of ${stops} blocks that scroll`);
    }
    const code = page.locator('main pre > code[data-stop]').first();
    await code.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(400);
    page.url().includes('00-warm-up') || fault('exercises/00-warm-up, keyboard: an arrow in a code block turns the page');
    const moved = await code.evaluate(element => element.scrollLeft);
    moved > 0 || fault('exercises/00-warm-up, keyboard: an arrow in a code block doesn’t scroll it');
    const editor = page.locator('.kata-editor').first();
    await editor.focus();
    await page.keyboard.press('Shift+Tab');
    await editor.evaluate(element => element !== document.activeElement) || fault('exercises/00-warm-up: Shift+Tab doesn’t leave a kata’s editor');
    await editor.focus();
    await page.keyboard.press('Tab');
    const next = await page.evaluate(() => document.activeElement.textContent);
    next === 'Run the tests' || fault(`exercises/00-warm-up: Tab goes from a kata’s editor to ${next}`);
    await context.close();
}

/** Where the system chooses the colors, each stroke of a picture or a chart, each word in it, and each icon can be seen on its ground. */
export async function forcedColors(browser, book, pages, fault) {
    for (const colorScheme of ['light', 'dark']) {
        const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme, forcedColors: 'active' });
        // Who has chosen a theme of the book has the system's colors all the same.
        await context.addInitScript(theme => localStorage.setItem('mdbook-theme', theme), colorScheme === 'light' ? 'navy' : 'light');
        for (const name of pages) {
            const page = await context.newPage();
            await page.goto(url(book, name));
            const unseen = await page.evaluate(() => {
                document.querySelectorAll('main details').forEach(fold => fold.open = true);
                const painter = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
                const light = color => {
                    painter.clearRect(0, 0, 1, 1);
                    painter.fillStyle = color;
                    painter.fillRect(0, 0, 1, 1);
                    const parts = [...painter.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => part / 255);
                    const [r, g, b] = parts.map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                };
                const contrast = (one, other) => {
                    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
                    return (high + 0.05) / (low + 0.05);
                };
                const sample = document.body.appendChild(document.createElement('div'));
                sample.style.backgroundColor = 'Canvas';
                const ground = getComputedStyle(sample).backgroundColor;
                const isPaint = paint => paint !== 'none' && !/, 0\)$/.test(paint);
                const found = [];
                // Shades behind the words are no more than that.
                const drawn = 'main svg :is(path, line, rect, circle, ellipse, polygon, polyline, text), #mdbook-menu-bar svg path';
                for (const shape of document.querySelectorAll(drawn)) {
                    const board = shape.closest('.board');
                    const isShade = shape.matches('.chart-band, .chart-better, .chart-grid');
                    if (isShade || shape.closest('defs, clipPath, pattern') || !shape.checkVisibility()) {
                        continue;
                    }
                    const style = getComputedStyle(shape);
                    const paints = shape.matches('text') ? [style.fill] : [style.stroke, style.fill];
                    const below = board ? getComputedStyle(board.querySelector('svg')).backgroundColor : ground;
                    const seen = paints.filter(isPaint);
                    const least = shape.matches('text') ? 4.5 : 3;
                    if (seen.length > 0 && !seen.some(paint => contrast(paint, below) >= least)) {
                        found.push(`${shape.outerHTML.slice(0, 90)} in ${seen} on ${below}`);
                    }
                    if (shape.matches('text') && isPaint(style.stroke) && contrast(style.stroke, style.fill) < 3) {
                        found.push(`${shape.outerHTML.slice(0, 90)} has a rim in its own color, ${style.stroke}`);
                    }
                }
                return found;
            });
            if (unseen.length > 0) {
                fault(`${name}, forced colors, ${colorScheme}: ${unseen.length} things can’t be seen, first ${unseen[0]}`);
            }
            await page.close();
        }
        await context.close();
    }
}

/** At 200 and 400 % zoom a window has half and a quarter of its pixels: nothing is cut off, and the bar covers nothing that has the focus. */
export async function zoomed(browser, book, pages, fault) {
    for (const [zoom, width, height] of [[200, 700, 450], [400, 320, 256]]) {
        const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce' });
        for (const name of pages) {
            const page = await context.newPage();
            await page.goto(url(book, name));
            const lost = await page.evaluate(() => {
                document.querySelectorAll('main details').forEach(fold => fold.open = true);
                const found = [];
                // The text scrolls sideways by itself, so the page would never be wider.
                const text = document.getElementById('mdbook-content');
                const wider = Math.max(document.documentElement.scrollWidth - innerWidth, text.scrollWidth - text.clientWidth);
                wider > 0 && found.push(`the page is ${wider} px wider than the window`);
                for (const element of document.querySelectorAll('main *')) {
                    const style = getComputedStyle(element);
                    const isCut = style.overflowX === 'hidden' && element.scrollWidth > element.clientWidth + 2
                        || style.overflowY === 'hidden' && element.scrollHeight > element.clientHeight + 2;
                    const isText = element.checkVisibility() && !element.closest('svg') && !element.matches('.told, .skip');
                    isCut && isText && found.push(`cut off: ${element.outerHTML.slice(0, 100)}`);
                }
                return found;
            });
            lost.length === 0 || fault(`${name} at ${zoom} %: ${lost[0]}`);
            await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
            await page.locator('main a').last().focus();
            for (let stop = 0; stop < 12; stop++) {
                await page.keyboard.press('Shift+Tab');
                const covered = await page.evaluate(() => {
                    const [bar, focused] = [document.getElementById('mdbook-menu-bar'), document.activeElement];
                    const { bottom } = bar.getBoundingClientRect();
                    const rectangle = focused.getBoundingClientRect();
                    return focused.closest('main') && bottom > 0 && rectangle.bottom <= bottom ? focused.outerHTML.slice(0, 100) : null;
                });
                covered && fault(`${name} at ${zoom} %: the bar covers what has the focus: ${covered}`);
            }
            await page.close();
        }
        await context.close();
    }
}

/** How many links a reader follows to a page, where the list of pages would lead there by one. */
const FEW_LINKS = 3;

/** Without scripts each page of the book is a few links from the first, by links that can be seen, on a wide window and on a phone. */
export async function withoutScripts(browser, book, pages, fault) {
    for (const [width, height] of [[1400, 900], [390, 844]]) {
        const context = await browser.newContext({ viewport: { width, height }, javaScriptEnabled: false });
        const page = await context.newPage();
        const [reached, left] = [new Set(), [['index', 0]]];
        while (left.length > 0) {
            const [name, links] = left.shift();
            await page.goto(url(book, name));
            for (const frame of page.frames()) {
                for (const link of await frame.locator('a[href]').all()) {
                    const to = new URL(await link.getAttribute('href'), frame.url());
                    const path = decodeURIComponent(to.pathname);
                    const other = path.slice(resolve(book).length + 1, -'.html'.length);
                    const isNew = path.startsWith(resolve(book)) && path.endsWith('.html') && !reached.has(other);
                    if (isNew && existsSync(path) && await link.isVisible()) {
                        reached.add(other);
                        // The list of pages is the same on each page.
                        frame === page.mainFrame() && links + 1 < FEW_LINKS && left.push([other, links + 1]);
                    }
                }
            }
        }
        const missing = pages.filter(name => !reached.has(name));
        missing.length === 0 || fault(`without scripts, ${width} px: no link leads to ${missing.join(', ')}`);
        await page.goto(url(book, 'exercises/03-read-a-record'));
        const room = await page.locator('main').boundingBox();
        room.width > width / 2 && room.x >= 0 || fault(`without scripts, ${width} px: the text has ${Math.round(room.width)} px`);
        await context.close();
    }
}

// What a screen reader comes to, in this order: roles and names as Chromium hands them on. Checked by hand; texts are left out, so that
// pages can change.
const ALOUD = {
    'exercises/03-read-a-record': [
        'navigation Skip', 'link To the text', 'navigation Table of contents', 'banner', 'button Projector view', 'button Keyboard shortcuts',
        'main', 'heading 1 Exercise 3: Read a record', 'link to the task', 'heading 2 What you have', 'table',
        'group Kotlin code: repository', 'heading 2 Your task', 'table', 'heading 2 Measure it',
        'group Measured', 'image Rust divided by Kotlin, by metric', 'group The question', 'group Looked at as well',
        'heading 2 The difference', 'heading 2 Further reading',
        'navigation Page navigation',
    ],
    'instructors/talks': [
        'navigation Skip', 'link To the text', 'navigation Table of contents', 'banner', 'main', 'heading 1 Talks, beat by beat', 'heading 2 Before you port',
        'figure', 'image', 'table', 'heading 2 The port', 'figure', 'image', 'table', 'navigation Page navigation',
    ],
};

/** An exercise and a talk with its board, read aloud: the order above, no heading level left out, and a name for what isn't text. */
export async function aloud(browser, book, fault) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    for (const [name, expected] of Object.entries(ALOUD)) {
        const page = await context.newPage();
        await page.goto(url(book, name));
        const session = await context.newCDPSession(page);
        const { nodes } = await session.send('Accessibility.getFullAXTree');
        const byId = new Map(nodes.map(node => [node.nodeId, node]));
        const said = [];
        const visit = node => {
            if (!node.ignored) {
                const role = { img: 'image', graphicsDocument: 'image' }[node.role?.value] ?? node.role?.value ?? '';
                const level = node.properties?.find(({ name }) => name === 'level')?.value.value;
                said.push([role, role === 'heading' ? level : '', node.name?.value ?? ''].filter(word => word !== '').join(' '));
            }
            (node.childIds ?? []).forEach(id => byId.has(id) && visit(byId.get(id)));
        };
        visit(nodes[0]);
        let at = 0;
        for (const wanted of expected) {
            const found = said.findIndex((line, place) => place >= at && (line === wanted || line.startsWith(`${wanted} `) || line.startsWith(wanted) && wanted.includes(' ')));
            if (found < 0) {
                fault(`${name}, aloud: "${wanted}" doesn’t come after "${said[at - 1] ?? 'the beginning'}"`);
                break;
            }
            at = found + 1;
        }
        const levels = said.map(line => /^heading (\d)/.exec(line)?.[1]).filter(Boolean).map(Number);
        levels.forEach((level, place) => level > (levels[place - 1] ?? 0) + 1 && fault(`${name}, aloud: a heading of level ${level} comes after one of ${levels[place - 1]}`));
        // The icons of the bar are within buttons, which have names.
        const text = said.slice(said.indexOf('main'), said.findLastIndex(line => line.startsWith('navigation')));
        const nameless = text.filter(line => /^(image|button|link|textbox|checkbox|region|dialog)$/.test(line));
        nameless.length === 0 || fault(`${name}, aloud: ${nameless.length} without a name, first: ${nameless[0]}`);
        if (process.env.ALOUD) {
            console.log(`${name}\n${said.filter(line => !/^(StaticText|InlineTextBox|LineBreak|none|generic|paragraph|code|strong|emphasis|ListMarker)/.test(line)).join('\n')}\n`);
        }
        await page.close();
    }
    await context.close();
}
