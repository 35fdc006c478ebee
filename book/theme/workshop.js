// What the pages need besides mdBook: a way past the sidebar, landmarks, tasks that can be ticked, and names for what scrolls.
'use strict';

(function () {
    const main = document.querySelector('main');

    // The first stop of the Tab key, before a hundred links.
    if (main) {
        main.id ||= 'content';
        main.tabIndex = -1;
        // A page that the book's language doesn't have yet.
        if (main.querySelector('.in-english')) {
            main.lang = 'en';
        }
        const skip = document.createElement('a');
        skip.className = 'skip';
        skip.href = `#${main.id}`;
        skip.textContent = 'To the text';
        // In a landmark, as all that is on the page.
        const top = document.createElement('nav');
        top.setAttribute('aria-label', 'Skip');
        top.append(skip);
        document.body.prepend(top);
        document.getElementById('mdbook-menu-bar')?.setAttribute('role', 'banner');
    }

    // The icon of a note says what the word beside it says.
    main?.querySelectorAll('blockquote svg:not([role])').forEach(icon => icon.setAttribute('aria-hidden', 'true'));

    // Tasks: each box gets its sentence as a label, can be ticked, and stays so in this browser.
    const boxes = main?.querySelectorAll('li > input[type="checkbox"], li > p:first-child > input[type="checkbox"]') ?? [];
    boxes.forEach((box, at) => {
        const label = document.createElement('label');
        const item = box.parentElement;
        const nodes = [...item.childNodes];
        const end = nodes.findIndex(node => /^(UL|OL|P|PRE|DIV|DETAILS)$/.test(node.nodeName));
        label.append(...nodes.slice(0, end < 0 ? nodes.length : end));
        item.prepend(label);
        box.closest('li').classList.add('task');
        box.disabled = false;
        const key = `workshop-task ${location.pathname} ${at}`;
        try {
            box.checked = localStorage.getItem(key) === 'done';
            box.addEventListener('change', () => localStorage.setItem(key, box.checked ? 'done' : ''));
        } catch {
            // Without storage a tick lasts as long as the page.
        }
    });

    // What scrolls sideways takes the keyboard's focus and has a name. The panes of the book have both already; this is for
    // plain code blocks and tables, and only as long as they are too wide for the window.
    const named = [];
    for (const [selector, name] of [['pre > code', 'Code'], ['.table-wrapper', 'Table'], ['.picture-frame', 'Picture']]) {
        for (const element of document.querySelectorAll(selector)) {
            if (!element.hasAttribute('tabindex')) {
                named.push([element, name]);
            }
        }
    }
    function update() {
        for (const [element, name] of named) {
            if (element.scrollWidth > element.clientWidth) {
                element.tabIndex = 0;
                // No landmark, of which there would be dozens.
                element.setAttribute('role', 'group');
                element.setAttribute('aria-label', name);
            } else {
                element.removeAttribute('tabindex');
                element.removeAttribute('role');
                element.removeAttribute('aria-label');
            }
        }
    }
    update();
    window.addEventListener('resize', update);
})();
