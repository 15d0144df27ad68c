import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { type CssBlock, parseStyleSheet } from '../css-blocks.ts';

const WEB = new URL('../../../web/src/', import.meta.url).pathname;
const TOKENS = 'ui/styles/tokens.css';
const BASE = 'ui/styles/base.css';

const SHEETS = globSync('**/*.css', { cwd: WEB }).map((file) => {
  const text = readFileSync(WEB + file, 'utf8');
  return { file, text, ...parseStyleSheet(text) };
});
const COMPONENTS = SHEETS.filter(({ file }) => file !== TOKENS && file !== BASE);

it('The first style sheet declares the order of the layers', () => {
  const [first, ...others] = SHEETS.flatMap(({ file, statements }) =>
    statements.map((statement) => `${file}: ${statement}`),
  );
  assert.equal(first, `${TOKENS}: @layer tokens, base, ui, features, app, utilities`);
  assert.deepEqual(others, []);
  assert.match(readFileSync(`${WEB}main.tsx`, 'utf8'), /^(?:\/\/.*\n)*import '\.\/ui\/styles\/tokens\.css';/);
});

it('Every rule is in the layer of its folder', () => {
  const found = SHEETS.flatMap(({ file, blocks }) =>
    blocks
      .filter(({ within, prelude }) => within.length === 0 && !layersOf(file).includes(prelude))
      .map(({ prelude }) => `${file}: "${prelude}" outside ${layersOf(file).join(' or ')}`),
  );
  assert.deepEqual(found, []);
});

function layersOf(file: string): readonly string[] {
  if (file === TOKENS) return ['@layer tokens'];
  if (file === BASE) return ['@layer base', '@layer utilities'];
  return [`@layer ${file.slice(0, file.indexOf('/'))}`];
}

it('Every rule of a component is nested in a block of its class, without @scope', () => {
  const found = COMPONENTS.flatMap(({ file, blocks }) =>
    blocks
      .filter((block) => (isOutermostRule(block) ? !COMPONENT.test(block.prelude) : block.prelude.startsWith('@scope')))
      .map(({ prelude }) => `${file}: "${prelude}" is not the class of a component`),
  );
  assert.deepEqual(found, []);
});

it('Every component has its own class, in one style sheet', () => {
  const owners = new Map<string, string>();
  const found = COMPONENTS.flatMap(({ file, blocks }) =>
    blocks
      .filter(isOutermostRule)
      .flatMap(({ prelude }) => Array.from(prelude.matchAll(/(?:^|, )\.([\w-]+)/g), ([, name = '']) => name))
      .filter((name) => name !== MARKDOWN && owners.getOrInsert(name, file) !== file)
      .map((name) => `${file}: ".${name}" is also a component of ${owners.get(name)}`),
  );
  assert.deepEqual(found, []);
});

/** The class of a component, or several, each with modifiers: `.entries.grid, .other`. */
const COMPONENT = /^\.[\w-]+(?:\.[\w-]+)*(?:, \.[\w-]+(?:\.[\w-]+)*)*$/;

/** Markdown has a style sheet of its own, and also uses the colours of highlighted source code. */
const MARKDOWN = 'markdown';

function isOutermostRule({ prelude, within }: CssBlock): boolean {
  return !prelude.startsWith('@') && within.every((outer) => outer.startsWith('@') && !outer.startsWith('@keyframes'));
}

it('Components use tokens and logical properties', () => {
  const found = SHEETS.filter(({ file }) => file !== TOKENS).flatMap(({ file, blocks }) =>
    blocks.flatMap(({ prelude, declarations }) =>
      declarations.flatMap((declaration) =>
        DECLARATIONS.filter(([pattern]) => pattern.test(declaration)).map(
          ([, instead]) => `${file}: ${prelude} { ${declaration} } instead of ${instead}`,
        ),
      ),
    ),
  );
  assert.deepEqual(found, []);
});

/** Declarations that components must not contain, and what to write instead. */
const DECLARATIONS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/^font(?:-size)?:.*\d/, 'var(--type-…)'],
  [/^font-weight:.*\d/, 'var(--weight-…)'],
  [/^line-height:.*\d/, 'var(--leading-…)'],
  [/^z-index:.*\d/, 'var(--layer-…)'],
  [/^stroke-width:.*\d/, 'var(--stroke-…)'],
  [
    /^border(?:-\w+)*-radius: (?!(?:0|inherit|var\(--radius[\w-]*\)|calc\(var\(--radius\) [+-] 1px\))$)/,
    'var(--radius-…)',
  ],
  [/^(?:animation|transition)\b.*[\s:](?!0s)[\d.]+m?s\b/, 'var(--motion-…) or var(--delay-…)'],
  [/(?<!color-mix\(in )\b(?:oklch|oklab|lch|lab|hsla?|hwb|rgba?)\(|#[\da-f]{3,8}\b/i, 'a colour of tokens.css'],
  [
    /^(?:(?:margin|padding|border|scroll-margin|scroll-padding)-)?(?:left|right|top|bottom)\b/,
    'inset-inline, margin-inline-start, …',
  ],
  [/^(?:min-|max-)?(?:width|height):/, 'inline-size or block-size'],
  [/^text-align: (?:left|right)\b/, 'start or end'],
];

it('Icons have the sizes of tokens', () => {
  const found = SHEETS.flatMap(({ file, blocks }) =>
    blocks
      .filter(({ prelude }) => /\.(?:entry-)?icon(?![\w-])[^\s>+~]*$/.test(prelude))
      .flatMap(({ prelude, declarations }) =>
        declarations
          .filter((declaration) => /^(?:inline|block)-size:(?! var\(| 100%)/.test(declaration))
          .map((declaration) => `${file}: ${prelude} { ${declaration} }`),
      ),
  );
  assert.deepEqual(found, []);
});

it('Components depend on their own width, and only the layout of phones on that of the window', () => {
  const names = new Set(
    COMPONENTS.flatMap(({ blocks }) =>
      blocks.flatMap(({ declarations }) =>
        declarations.flatMap((each) => /^container: (\S+) \//.exec(each)?.[1] ?? []),
      ),
    ),
  );
  const found = SHEETS.flatMap(({ file, blocks }) =>
    blocks
      .map(({ prelude }) => prelude)
      .filter((prelude) => {
        const container = /^@container (\S+) /.exec(prelude)?.[1];
        return container === undefined
          ? /^@(?:media|container)\b.*(?:width|inline-size)/.test(prelude)
          : !names.has(container);
      })
      .map((prelude) => `${file}: ${prelude} instead of @container with a name, or :root[data-narrow]`),
  );
  assert.deepEqual(found, []);
});

it('Style sheets use only custom properties that exist, and every token', () => {
  const all = globSync('**/*.{css,ts,tsx}', { cwd: WEB }).map((file) => readFileSync(WEB + file, 'utf8'));
  const defined = new Set(
    all.flatMap((text) => Array.from(text.matchAll(/['\s](--[\w-]+)'?:|['"`](--[\w-]+)['"`]/g), ([, a, b]) => a ?? b)),
  );
  const used = new Set(
    all.flatMap((text) => Array.from(text.matchAll(/(?:var\(|getPropertyValue\(')(--[\w-]+)/g), ([, name]) => name)),
  );
  assert.deepEqual([...used.difference(defined)], []);
  assert.deepEqual([...defined.difference(used)], []);
});
