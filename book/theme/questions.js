// Questions: an answer is a fold, which needs no script. This one says aloud what an opened answer says, keeps the first answer to each
// question in this browser, and counts: one's own answers, and those of a room that pastes them together. Nothing is sent anywhere.
'use strict';

(function () {
    const main = document.querySelector('main');
    const PREFIX = 'workshop-question ';
    let storage = null;
    try {
        storage = window.localStorage;
    } catch {
        // Without storage an answer lasts as long as the page.
    }

    // A screen reader stays at the summary that it has opened: what is inside is told here.
    const told = document.createElement('p');
    told.className = 'told';
    told.setAttribute('role', 'status');

    /** Marks the answer that was opened first. */
    function mark(choice) {
        const note = document.createElement('span');
        note.className = 'first';
        note.textContent = ' (your first answer)';
        choice.querySelector('summary').append(note);
    }

    for (const question of main?.querySelectorAll('.question') ?? []) {
        const key = PREFIX + question.dataset.question;
        let kept = storage?.getItem(key);
        const before = kept && question.querySelector(`[data-letter="${kept[0]}"]`);
        if (before) {
            mark(before);
            before.open = true;
        }
        for (const choice of question.querySelectorAll('.choice')) {
            choice.querySelector('summary').addEventListener('click', () => {
                if (choice.open) {
                    return;
                }
                told.textContent = choice.querySelector('p').textContent;
                if (!kept) {
                    kept = choice.dataset.letter + (choice.classList.contains('is-right') ? '+' : '-');
                    storage?.setItem(key, kept);
                    mark(choice);
                }
            });
        }
        told.isConnected || main.append(told);
    }

    /** What this browser has kept, one question per item: "moved-list b+". */
    function own() {
        const keys = Object.keys(storage ?? {}).filter(key => key.startsWith(PREFIX)).sort();
        return keys.map(key => `${key.slice(PREFIX.length)} ${storage.getItem(key)}`);
    }

    function element(name, text) {
        const made = document.createElement(name);
        made.textContent = text;
        return made;
    }

    const mine = document.querySelector('.own-answers');
    if (mine) {
        const answers = own();
        const right = answers.filter(answer => answer.endsWith('+')).length;
        const forget = element('button', 'Forget my answers');
        forget.addEventListener('click', () => {
            own().forEach(answer => storage.removeItem(PREFIX + answer.split(' ')[0]));
            mine.replaceChildren(element('p', 'No questions answered yet.'));
        });
        mine.replaceChildren(...answers.length === 0 ? [element('p', 'No questions answered yet.')] : [
            element('p', `Answered: ${answers.length}. Right at the first try: ${right}.`),
            element('p', answers.join('; ')),
            forget,
        ]);
    }

    const room = document.querySelector('.room-answers');
    if (room) {
        const label = element('label', 'The lines of the room, one per person ');
        const lines = document.createElement('textarea');
        lines.rows = 6;
        const table = document.createElement('div');
        table.className = 'table-wrapper';
        label.append(lines);
        room.replaceChildren(label, table);
        lines.addEventListener('input', () => {
            const counts = new Map();
            for (const [, name, letter, verdict] of lines.value.matchAll(/([\w-]+) ([a-h])([+-])/g)) {
                const count = counts.get(name) ?? { all: 0, right: 0, wrong: {} };
                counts.set(name, count);
                count.all += 1;
                if (verdict === '+') {
                    count.right += 1;
                } else {
                    count.wrong[letter] = (count.wrong[letter] ?? 0) + 1;
                }
            }
            const rows = [...counts].sort(([, one], [, other]) => one.right / one.all - other.right / other.all);
            const made = document.createElement('table');
            const head = made.createTHead().insertRow();
            ['question', 'people', 'right at the first try', 'wrong answers'].forEach(title => {
                const cell = element('th', title);
                cell.scope = 'col';
                head.append(cell);
            });
            const body = made.createTBody();
            for (const [name, { all, right, wrong }] of rows) {
                const row = body.insertRow();
                const told = Object.entries(wrong).sort().map(([letter, count]) => `${letter}: ${count}`).join(', ');
                [name, all, right, told].forEach(text => row.append(element('td', text)));
            }
            table.replaceChildren(made);
        });
    }
})();
