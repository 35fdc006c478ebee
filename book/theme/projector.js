// The projector view: the same page, large, one section at a time. P or the button in the menu bar starts it, and so does
// `?projector` in the address. N opens the presenter's window (`?notes`): the same page again, of which it shows only the
// instructor's notes, with what comes next and a clock. It asks its opener where the room is, and hands keys to it; that
// works for pages from files as well, which browsers keep apart otherwise.
// A section with a drawing is a talk: the room sees the drawing grow, a beat of the talk's table at a time, and the presenter the table.
'use strict';

(function () {
    const root = document.documentElement;
    const main = document.querySelector('main');
    const bar = document.querySelector('.right-buttons');
    if (!main?.querySelector('h1') || !bar) {
        return;
    }
    const page = location.href.split(/[?#]/)[0];
    const asked = new URLSearchParams(location.search);

    // Each heading begins a section, unless it follows another heading.
    const sections = [];
    for (const element of main.children) {
        if (sections.length === 0 || /^H[123]$/.test(element.tagName) && sections.at(-1).length > 1) {
            sections.push([]);
        }
        sections.at(-1).push(element);
    }
    const title = section => section[0].textContent;
    const chapter = step => document.querySelector(`.nav-chapters.${step > 0 ? 'next' : 'previous'}`);
    const isOn = () => root.classList.contains('projector');
    const drawing = section => section.find(element => element.matches('figure.board'));
    const beats = section => section.flatMap(element => [...element.querySelectorAll('tbody tr')]);
    let at = 0;
    let beat = 0;
    let presenter = null;

    function make(tag, name, text = '') {
        const element = document.createElement(tag);
        element.className = name;
        element.textContent = text;
        return element;
    }
    const place = make('p', 'projector-place');

    function remember(query) {
        try {
            history.replaceState(null, '', `${page}${query}#${sections[at][0].id}`);
        } catch {
            // In some browsers a page from a file keeps its address; a reload then begins anew.
        }
    }

    function tell() {
        presenter?.postMessage({ page, at, beat }, '*');
    }

    /** Shows the strokes of the beats so far; of a page that's only read, all of them. */
    function draw() {
        const now = isOn() ? Number(beats(sections[at])[beat]?.cells[0].textContent) : Infinity;
        main.querySelectorAll('.board [data-beat]').forEach(stroke => {
            stroke.classList.toggle('later', Number(stroke.dataset.beat) > now);
        });
    }

    function show(section) {
        at = Math.max(0, section);
        beat = 0;
        root.classList.add('projector');
        sections.forEach((elements, other) => {
            const isTalk = drawing(elements);
            elements.forEach(element => {
                const isRead = isTalk && !element.matches('h1, h2, h3, .board');
                element.classList.toggle('elsewhere', other !== at || Boolean(isRead));
            });
        });
        draw();
        place.textContent = `${at + 1} of ${sections.length}`;
        scrollTo(0, 0);
        remember('?projector');
        tell();
    }

    function start() {
        show(sections.findLastIndex(section => section[0].getBoundingClientRect().top < 120));
    }

    function leave() {
        root.classList.remove('projector');
        draw();
        remember('');
        sections[at][0].scrollIntoView();
    }

    function move(step) {
        if (sections[at + step]) {
            show(at + step);
        } else if (chapter(step)) {
            location.href = `${chapter(step).href}?projector${step > 0 ? '' : '=last'}`;
        }
    }

    // A page key first draws the rest of a talk, or shows the rest of a section that is longer than the screen.
    function turn(step) {
        if (drawing(sections[at]) && beats(sections[at])[beat + step]) {
            beat += step;
            draw();
            tell();
            return;
        }
        const rest = step > 0 ? root.scrollHeight - innerHeight - scrollY : scrollY;
        if (rest > 8) {
            scrollBy(0, step * innerHeight * 0.8);
        } else {
            move(step);
        }
    }

    const moves = {
        ArrowRight: () => turn(1),
        ArrowLeft: () => turn(-1),
        PageDown: () => turn(1),
        PageUp: () => turn(-1),
        ' ': () => turn(1),
        Home: () => show(0),
        End: () => show(sections.length - 1),
    };
    const commands = {
        n: () => open(`${page}?notes=${Date.now()}`, 'workshop-notes', 'popup,width=800,height=700'),
        p: leave,
        Escape: leave,
    };

    function onKey(event) {
        const { key, target } = event;
        const isOurs = key.length === 1 || key in moves || key in commands;
        const isOther = event.ctrlKey || event.altKey || event.metaKey || target.closest('input, textarea, select');
        if (!isOurs || isOther || key === ' ' && target.closest('summary, button, a')) {
            return;
        }
        if (asked.has('notes')) {
            opener?.postMessage({ key }, '*');
        } else if (isOn()) {
            (moves[key] ?? commands[key])?.();
        } else if (key === 'p') {
            start();
        } else {
            return;
        }
        // Else mdBook goes to another chapter, or searches.
        event.stopImmediatePropagation();
        event.preventDefault();
    }

    function present() {
        const since = Number(asked.get('notes')) || Date.now();
        const header = make('header', 'notes-now');
        const [clock, now, next] = [make('p', 'notes-clock'), make('h1', ''), make('p', '')];
        header.append(clock, now, next);
        const notes = main.querySelectorAll('details.instructor');
        notes.forEach(note => note.open = true);
        if (notes.length === 0 && !sections.some(drawing)) {
            header.append(make('p', '', 'This page has no notes.'));
        }
        main.prepend(header);
        root.classList.add('notes');
        function update() {
            const chapters = [...document.querySelectorAll('#mdbook-sidebar a')];
            const following = chapters.find(link => link.href === chapter(1)?.href);
            const time = new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
            clock.textContent = `${time}, after ${Math.floor((Date.now() - since) / 60000)} min`;
            sections.forEach((elements, other) => {
                const isTold = other === at && drawing(elements);
                elements.forEach(element => element.classList.toggle('talk', Boolean(isTold)));
            });
            beats(sections[at]).forEach((row, number) => row.classList.toggle('beat', number === beat));
            now.textContent = `${title(sections[at])} (${at + 1} of ${sections.length})`;
            next.textContent = `Next: ${sections[at + 1] ? title(sections[at + 1]) : following?.textContent ?? 'the end'}`;
        }
        addEventListener('message', ({ source, data }) => {
            if (source === opener && data?.page === page) {
                ({ at, beat } = data);
                update();
                main.querySelector('.talk .beat')?.scrollIntoView({ block: 'center' });
            } else if (source === opener && data?.page) {
                location.replace(`${data.page}?notes=${since}`);
            }
        });
        update();
        setInterval(() => {
            opener?.postMessage({}, '*');
            update();
        }, 500);
    }

    function project() {
        const button = make('button', 'icon-button projector-button');
        button.type = 'button';
        button.title = 'Projector view (p)';
        button.setAttribute('aria-label', 'Projector view');
        button.setAttribute('aria-keyshortcuts', 'p');
        button.innerHTML = '<span class="fa-svg"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512"><path d="M32 48h448v48h-16v224H280v48l88 96h-64l-48-56-48 56h-64l88-96v-48H48V96H32zm64 48v176h320V96z"/></svg></span>';
        button.addEventListener('click', start);
        bar.prepend(button);
        const help = document.querySelector('#mdbook-help-popup > div');
        help?.append(make('p', '', 'Press P for the projector view, and N in it for the notes'));
        main.after(place);
        addEventListener('message', ({ source, data }) => {
            if (isOn() && source && source !== window) {
                presenter = source;
                moves[data?.key]?.();
                tell();
            }
        });
        const last = asked.get('projector') === 'last';
        const target = document.getElementById(location.hash.slice(1) || main.querySelector('h1').id);
        if (asked.has('projector')) {
            show(last ? sections.length - 1 : sections.findIndex(section => section.some(element => element.contains(target))));
        }
    }

    addEventListener('keydown', onKey, true);
    (asked.has('notes') ? present : project)();
})();
