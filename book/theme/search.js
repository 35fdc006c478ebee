// The search finds Kotlin's words: those that elasticlunr throws away (symbols, and words as common as "when" and "it") are looked up
// by the heading of the page "What is it called?" that is about them. What a reader wants last comes last.
'use strict';

(function () {
    if (!window.elasticlunr) {
        return;
    }

    // Only for what finds nothing by itself.
    const MEANT = new Map(Object.entries({
        '?.': 'safe call',
        '?:': 'elvis operator',
        '!!': 'not-null assertion',
        '..': 'ranges',
        '..<': 'ranges',
        '::': 'method references',
        '->': 'lambdas function types',
        '=>': 'match',
        '?': 'question mark',
        '&': 'borrows',
        '*': 'borrows',
        '==': 'equals hashcode',
        '===': 'equals hashcode',
        also: 'scope functions',
        any: 'unit nothing',
        as: 'smart casts',
        by: 'lazy',
        do: 'control flow',
        else: 'control flow',
        for: 'control flow',
        if: 'control flow',
        in: 'ranges',
        is: 'smart casts',
        it: 'implicit parameters',
        let: 'scope functions',
        this: 'implicit parameters',
        to: 'pair destructuring',
        when: 'match',
        where: 'generics reified',
        while: 'control flow',
        with: 'scope functions',
    }));

    // Notes for the room, answers, rendered differences and tables of figures hold each word of the course.
    const LATE = /(^|\/)(instructors\/|for-instructors\.|updating\.)|#(the-difference|measure-it)$/;

    function meant(query) {
        const said = query.trim().toLowerCase();
        const word = said.replace(/^\W+|\W+$/g, '');
        const symbol = [...MEANT.keys()].find(key => /^\W+$/.test(key) && said.includes(key));
        return MEANT.get(said) ?? MEANT.get(word) ?? MEANT.get(symbol);
    }

    const { prototype } = elasticlunr.Index;
    const { search } = prototype;
    prototype.search = function (query, options) {
        let hits = search.call(this, query, options);
        const instead = hits.length === 0 ? meant(query) : undefined;
        if (instead) {
            hits = search.call(this, instead, options);
        } else if (hits.length === 0) {
            // No section has all of these words.
            hits = search.call(this, query, { ...options, bool: 'OR' });
        }
        const isLate = hit => LATE.test(window.search.doc_urls[hit.ref]);
        return [...hits.filter(hit => !isLate(hit)), ...hits.filter(isLate)];
    };
})();
