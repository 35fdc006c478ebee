// What scrolls sideways takes the keyboard's focus and has a name. The panes of the book have both already; this is for
// plain code blocks and tables, and only as long as they are too wide for the window.
'use strict';

(function () {
    const named = [];
    for (const [selector, name] of [['pre > code', 'Code'], ['.table-wrapper', 'Table']]) {
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
                element.setAttribute('role', 'region');
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
