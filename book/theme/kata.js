// Katas on the page: an editor for the starter, and a button that sends it with its tests to the Rust playground. Nothing is sent, and
// nothing is loaded, before the button is pressed. What is written stays in this browser.
'use strict';

(function () {
    const PLAYGROUND = 'https://play.rust-lang.org/execute';
    const LIMIT = 30_000;

    function element(name, properties, ...children) {
        const made = Object.assign(document.createElement(name), properties);
        made.append(...children);
        return made;
    }

    function kept(key) {
        try {
            return localStorage.getItem(key);
        } catch {
            return null;
        }
    }

    function keep(key, text) {
        try {
            text === null ? localStorage.removeItem(key) : localStorage.setItem(key, text);
        } catch {
            // Without storage it lasts as long as the page.
        }
    }

    async function judge(code) {
        const response = await fetch(PLAYGROUND, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({
                channel: 'stable', mode: 'debug', edition: '2024', crateType: 'bin', tests: true, backtrace: false, code,
            }),
            signal: AbortSignal.timeout(LIMIT),
        });
        if (!response.ok) {
            throw new Error(`it answers ${response.status}`);
        }
        return response.json();
    }

    /** What came of it, in one sentence, and all that was printed. */
    function verdict({ success, stdout = '', stderr = '' }) {
        const tests = [...stdout.matchAll(/^test (.+?) \.\.\. (ok|FAILED)$/gm)];
        const red = tests.filter(([, , result]) => result !== 'ok').map(([, name]) => name);
        if (tests.length === 0) {
            return ['It doesn’t compile.', stderr];
        }
        if (success && red.length === 0) {
            return [`Green: all ${tests.length} tests pass.`, ''];
        }
        return [`Red: ${red.length} of ${tests.length} tests fail: ${red.join(', ')}.`, stdout];
    }

    for (const kata of document.querySelectorAll('.kata-here')) {
        const shown = kata.querySelector('.kata-code');
        const tests = kata.querySelector('.kata-tests').textContent;
        const key = `workshop-kata ${kata.dataset.kata}`;
        const starter = shown.textContent;
        const editor = element('textarea', {
            value: kept(key) ?? starter, spellcheck: false, rows: starter.split('\n').length + 3, wrap: 'off',
            autocapitalize: 'off', className: 'kata-editor',
        });
        editor.setAttribute('aria-label', shown.getAttribute('aria-label'));
        editor.addEventListener('input', () => keep(key, editor.value));
        const said = element('p', { className: 'kata-said' });
        said.setAttribute('role', 'status');
        const output = element('pre', { className: 'kata-output', hidden: true }, element('code', { className: 'nohighlight' }));
        const run = element('button', { type: 'button', textContent: 'Run the tests' });
        const reset = element('button', { type: 'button', textContent: 'Start again' });
        reset.addEventListener('click', () => {
            editor.value = starter;
            keep(key, null);
        });
        run.addEventListener('click', async () => {
            run.disabled = true;
            said.textContent = 'The playground compiles it …';
            output.hidden = true;
            try {
                const [sentence, all] = verdict(await judge(`${editor.value}\n\n${tests}`));
                said.textContent = sentence;
                output.firstChild.textContent = all;
                output.hidden = all === '';
            } catch (error) {
                said.textContent = `The playground can’t be reached (${error.message}). Use ./justw watch exercise-0 instead.`;
            }
            run.disabled = false;
        });
        kata.querySelector('.kata-note').textContent =
            'Only online: the button sends this code and its tests to the Rust playground, play.rust-lang.org. Press Tab to leave the editor.';
        shown.closest('pre').replaceWith(editor, element('p', {}, run, ' ', reset), said, output);
    }
})();
