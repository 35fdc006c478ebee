// The keys of the book: those of mdBook, which turn pages and search, and P for the projector. A letter is meant by its name; on a layout
// that has no Latin letters it is meant by its place. One setting switches all of them off, for people who dictate, or whose arrow keys read.
'use strict';

(function () {
    const SETTING = 'workshop-keys';
    const PLACES = { KeyN: 'n', KeyP: 'p', KeyS: 's' };
    const EDITABLE = 'input, textarea, select, [contenteditable]';
    // What scrolls sideways, or has keys of its own.
    const HAS_ARROWS = 'pre, .table-wrapper, .picture-frame, [role="group"][tabindex="0"]';
    const help = document.getElementById('mdbook-help-container');
    const popup = document.getElementById('mdbook-help-popup');
    const bar = document.querySelector('.right-buttons');
    const translated = new WeakSet();
    let isOn = true;
    let before = null;
    try {
        isOn = localStorage.getItem(SETTING) !== 'off';
    } catch {
        // Without storage the setting lasts as long as the page.
    }

    /** The key as the book knows it: on a Cyrillic layout the key of the P gives another letter, and Shift or Caps Lock another case. */
    function meant({ key, code, shiftKey }) {
        if (key.length !== 1) {
            return key;
        }
        if (key.charCodeAt(0) < 128) {
            return key.toLowerCase();
        }
        return code === 'Slash' ? (shiftKey ? '?' : '/') : PLACES[code] ?? key;
    }

    function onKey(event) {
        const { target } = event;
        const isOther = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
        if (translated.has(event) || isOther || !target.closest || target.closest(EDITABLE)) {
            return;
        }
        const key = meant(event);
        const isLetter = /^[nps/?]$/.test(key);
        const isArrow = key === 'ArrowLeft' || key === 'ArrowRight';
        const isProjected = /\b(projector|notes)\b/.test(document.documentElement.className);
        if (isOpen()) {
            // The popup is the whole page as long as it is open.
            key === 'Escape' && close();
            isLetter || isArrow || key === 'Escape' ? event.stopImmediatePropagation() : null;
        } else if (!isOn && (isLetter || isArrow && !isProjected) || isArrow && !isProjected && target.closest(HAS_ARROWS)) {
            // The browser has it, and nothing else.
            event.stopImmediatePropagation();
        } else if (key === '?' && help) {
            event.stopImmediatePropagation();
            event.preventDefault();
            open();
        } else if (isLetter && key !== event.key) {
            event.stopImmediatePropagation();
            const again = new KeyboardEvent('keydown', { key, code: event.code, bubbles: true, cancelable: true });
            translated.add(again);
            target.dispatchEvent(again) || event.preventDefault();
        }
    }

    const isOpen = () => help?.style.display === 'flex';

    function open() {
        before = document.activeElement;
        help.style.display = 'flex';
        popup.querySelector('input').focus();
    }

    function close() {
        help.style.display = 'none';
        before?.focus();
    }

    function element(name, properties, ...children) {
        const made = Object.assign(document.createElement(name), properties);
        made.append(...children);
        return made;
    }

    if (help && popup && bar) {
        popup.setAttribute('role', 'dialog');
        popup.setAttribute('aria-modal', 'true');
        popup.setAttribute('aria-label', 'Keyboard shortcuts');
        const box = element('input', { type: 'checkbox', checked: isOn });
        box.addEventListener('change', () => {
            isOn = box.checked;
            try {
                localStorage.setItem(SETTING, isOn ? 'on' : 'off');
            } catch {
                // As above.
            }
        });
        const shut = element('button', { type: 'button', textContent: 'Close' });
        shut.addEventListener('click', close);
        // Between these two the Tab key goes round.
        popup.addEventListener('keydown', event => {
            if (event.key === 'Tab') {
                event.preventDefault();
                (document.activeElement === box ? shut : box).focus();
            }
        });
        help.addEventListener('mousedown', event => popup.contains(event.target) || close());
        popup.append(element('label', {}, box, ' These keys, the arrows too, work on each page of the book'), shut);
        const button = element('button', { type: 'button', className: 'icon-button keys-button', title: 'Keyboard shortcuts (?)' });
        button.setAttribute('aria-label', 'Keyboard shortcuts');
        button.innerHTML = '<span class="fa-svg"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512"><path d="M16 112h480v288H16zm48 48v192h384V160zm32 32h48v40H96zm88 0h48v40h-48zm88 0h48v40h-48zm88 0h56v40h-56zM128 280h256v40H128z"/></svg></span>';
        button.addEventListener('click', open);
        bar.prepend(button);
    }
    addEventListener('keydown', onKey, true);
})();
