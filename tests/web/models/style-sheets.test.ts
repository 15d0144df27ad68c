import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';

const WEB = new URL('../../../web/src/', import.meta.url).pathname;
const SHEETS = globSync(`${WEB}**/*.css`).filter((file) => !file.endsWith('/tokens.css'));

/** What style sheets must not contain, and what to write instead. */
const RULES: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bfont-size: [\d.]+(?:rem|px)/g, 'a token: var(--type-…)'],
  [/\bfont-weight: \d/g, 'a token: var(--weight-…)'],
  [/\bz-index: -?\d/g, 'a token: var(--layer-…)'],
  [/@media \(width [<>]=? 40rem\)/g, ':where(:root[data-narrow])'],
  [
    /[^-.\w](?:(?:margin|padding|border)-)?(?:left|right|top|bottom)(?:-\w+)*:/g,
    'a logical property, such as margin-inline-start',
  ],
  [/[^-\w(](?:min-|max-)?(?:width|height):/g, 'inline-size or block-size'],
  [/text-align: (?:left|right)\b/g, 'start or end'],
];

it('Style sheets use tokens and logical properties', () => {
  assert.ok(SHEETS.length > 0);
  const found = SHEETS.flatMap((file) => {
    const sheet = readFileSync(file, 'utf8');
    return RULES.flatMap(([pattern, instead]) =>
      Array.from(
        sheet.matchAll(pattern),
        ([text]) => `${file.slice(WEB.length)}: "${text.trim()}" instead of ${instead}`,
      ),
    );
  });
  assert.deepEqual(found, []);
});

it('Style sheets use only custom properties that exist', () => {
  const all = globSync(`${WEB}**/*.{css,ts,tsx}`).map((file) => readFileSync(file, 'utf8'));
  const defined = new Set(
    all.flatMap((text) => Array.from(text.matchAll(/['\s](--[\w-]+)'?:|['"`](--[\w-]+)['"`]/g), ([, a, b]) => a ?? b)),
  );
  const used = new Set(all.flatMap((text) => Array.from(text.matchAll(/var\((--[\w-]+)/g), ([, name]) => name)));
  assert.deepEqual([...used.difference(defined)], []);
});
