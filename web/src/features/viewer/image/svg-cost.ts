/**
 * The maximum cost of an SVG that the page draws. The unit is one simple shape: 10,000 of them take a browser about a
 * second.
 */
const MAX_COST = 20_000;

/** The maximum nesting of elements and references, and the maximum number of references that an element inherits. */
const MAX_DEPTH = 500;
const MAX_INHERITED = 100;

/** The number of characters that cost as much as a shape, because paths and texts can be long. */
const CHARACTERS_PER_SHAPE = 200;
/** The minimum number of characters of a point of a path. A line draws its markers at each point. */
const CHARACTERS_PER_POINT = 2;

/** The costs of filter primitives, and of elements that need a layer or many strokes. */
const FILTER_COST = 50;
const SLOW_COST = 20;

/**
 * Returns whether browsers draw an SVG quickly. Drawing blocks the page, and some lines that reference each other can
 * describe billions of shapes. The estimate is rather too high than too low: any `#id` in a tag counts as a reference,
 * and an SVG with an unknown cost is not light.
 */
export function isLightSvg(text: string): boolean {
  if (hasUnknownCost(text)) return false;
  const drawing = parse(text);
  return drawing !== undefined && costOf(drawing) <= MAX_COST;
}

/** XSLT, and encodings other than supersets of ASCII, can hide elements. */
function hasUnknownCost(text: string): boolean {
  if (text.includes('<?xml-stylesheet') || text.includes('\0')) return true;
  const declaration = text.slice(0, text.indexOf('?>') + 1);
  const encoding = /\bencoding\s*=\s*["']([\w-]*)/.exec(declaration)?.[1] ?? 'utf-8';
  return !/^(utf-?8|us-ascii|iso-8859-\d+|windows-125\d)$/i.test(encoding);
}

interface SvgElement {
  readonly name: string;
  /** The tag, with decoded character references. */
  readonly tag: string;
  readonly children: SvgElement[];
  /** The ids in the tag. */
  readonly references: readonly string[];
  /** The ids in the tag and in those of its ancestors: descendants inherit patterns and markers. */
  readonly inherited: readonly string[];
  /** The number of characters of the text between its tags. */
  textLength: number;
}

interface Drawing {
  readonly root: SvgElement;
  readonly byId: ReadonlyMap<string, readonly SvgElement[]>;
  /** The ids that the style sheets reference. Any element can have any of these styles. */
  readonly styled: readonly string[];
  /** The number of filter functions in style sheets. */
  readonly styledFilters: number;
}

/** Parses an SVG in linear time. Returns undefined if it is not well-formed, or its cost is unknown or too high. */
function parse(text: string): Drawing | undefined {
  const root: SvgElement = { name: '', tag: '', children: [], references: [], inherited: [], textLength: 0 };
  const open = [root];
  const byId = new Map<string, SvgElement[]>();
  let css = '';
  let count = 0;
  for (const { before, markup } of piecesOf(text)) {
    const current = open.at(-1);
    // Declarations in a document type can define entities and default attributes.
    if (!current || markup === undefined || (/^<!DOCTYPE/i.test(markup) && markup.includes('['))) return undefined;
    const content = before + (markup.startsWith(CDATA) ? markup.slice(CDATA.length, -CDATA_END.length) : '');
    current.textLength += content.length;
    // Comments don't separate the text of a style sheet.
    if (current.name === 'style') css += content;
    if (/^<[!?]/.test(markup)) continue;
    if (markup.startsWith('</')) {
      open.pop();
      continue;
    }
    count += 1;
    const element = elementOf(markup, current);
    if (!element || count > MAX_COST || open.length > MAX_DEPTH) return undefined;
    current.children.push(element);
    for (const id of idsOf(element.tag)) {
      const others = byId.get(id);
      if (others) others.push(element);
      else byId.set(id, [element]);
    }
    if (!markup.endsWith('/>')) open.push(element);
  }
  const sheet = decoded(css);
  if (hidesReferences(sheet)) return undefined;
  // Outside `url()`, `#` begins a selector or a color.
  const urls = sheet.split(/url\(/i).slice(1);
  const styled = urls.flatMap((part) => fragmentsOf(part.split(')', 1)[0] ?? ''));
  return { root, byId, styled, styledFilters: filterFunctionsIn(sheet) };
}

/** Returns the element of a start tag; undefined if its cost is unknown. */
function elementOf(markup: string, { inherited: outer }: SvgElement): SvgElement | undefined {
  const tag = decoded(markup);
  const references = fragmentsOf(tag);
  const inherited = references.length === 0 ? outer : [...outer, ...references];
  if (hidesReferences(tag) || hasEntity(markup) || inherited.length > MAX_INHERITED) return undefined;
  const name = /^<(?:[\w.-]+:)?([\w.-]+)/.exec(tag)?.[1] ?? '';
  return { name, tag, children: [], references, inherited, textLength: 0 };
}

const CDATA = '<![CDATA[';
const CDATA_END = ']]>';

interface Piece {
  /** The text before the markup. */
  readonly before: string;
  /** A tag, comment, CDATA section or instruction; undefined if it does not end. */
  readonly markup: string | undefined;
}

function* piecesOf(text: string): Generator<Piece> {
  for (let from = 0, at = text.indexOf('<'); at >= 0; at = text.indexOf('<', from)) {
    const end = endOfMarkup(text, at);
    yield { before: text.slice(from, at), markup: end === undefined ? undefined : text.slice(at, end) };
    from = end ?? text.length;
  }
}

function endOfMarkup(text: string, at: number): number | undefined {
  for (const [start, end] of [
    ['<!--', '-->'],
    [CDATA, CDATA_END],
    ['<?', '?>'],
  ] as const) {
    if (!text.startsWith(start, at)) continue;
    const found = text.indexOf(end, at + start.length);
    return found < 0 ? undefined : found + end.length;
  }
  let quote = '';
  for (let position = at; position < text.length; position += 1) {
    const character = text.charAt(position);
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '>') return position + 1;
    else if (character === '"' || character === "'") quote = character;
  }
  return undefined;
}

function decoded(text: string): string {
  return text.replace(/&#(?:x([\da-f]+)|(\d+));/gi, (_, hex?: string, decimal?: string) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

/** Returns whether a tag or a style sheet contains other documents, or CSS escapes, which can spell `url(#id)`. */
function hidesReferences(text: string): boolean {
  if (text.includes('\\') && text.includes('(')) return true;
  const [, ...contents] = text.replace(/\s/g, '').toLowerCase().split('data:');
  return contents.some((content) => !/^(image\/(png|jpe?g|gif|webp|avif)|(application\/(x-)?)?font)/.test(content));
}

/** Returns whether a tag contains an entity that is not predefined. Some document types define entities for `#`. */
function hasEntity(tag: string): boolean {
  return /&(?!amp;|lt;|gt;|quot;|apos;|#)/.test(tag);
}

/** Returns the ids that a text references as `#id`. A percent-encoded id is decoded, as in URLs. */
function fragmentsOf(text: string): readonly string[] {
  return text.split('#').slice(1).map(keyOf);
}

function idsOf(tag: string): readonly string[] {
  return tag
    .split(/\bid\s*=\s*["']/)
    .slice(1)
    .map(keyOf);
}

/** Returns an id up to the first character that ends a reference. */
function keyOf(text: string): string {
  const key = text.split(/["'\s)]/, 1)[0] ?? '';
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function filterFunctionsIn(text: string): number {
  return text.split(/(?:blur|shadow)\(/i).length - 1;
}

/** Returns the estimated cost of drawing; infinite if elements reference each other in a circle. */
function costOf({ root, byId, styled, styledFilters }: Drawing): number {
  const known = new Map<SvgElement, number>();
  const cost = (element: SvgElement, depth: number): number => {
    if (depth > MAX_DEPTH) return Infinity;
    const before = known.get(element);
    if (before !== undefined) return before;
    known.set(element, Infinity);
    const { tag, inherited, references } = element;
    const repetitions = 1 + sum(targets(inherited, 'repeated').map((target) => repeatedCost(target, tag, depth + 1)));
    const uses = sum(targets(references, 'used').map((target) => cost(target, depth + 1)));
    // An animation of a style applies to descendants of its parent.
    const isUnknown = uses + repetitions > 1 && /^(animate|set)/.test(element.name);
    const children = sum(element.children.map((child) => cost(child, depth + 1)));
    const total = isUnknown ? Infinity : (ownCost(element) + uses) * repetitions + children;
    known.set(element, total);
    return total;
  };
  const targets = (ids: readonly string[], kind: 'used' | 'repeated') =>
    ids.flatMap((id) => byId.get(id) ?? []).filter(({ name }) => kindOf(name) === kind);
  const repeatedCost = (target: SvgElement, tag: string, depth: number) =>
    cost(target, depth) * (target.name === 'marker' ? Math.max(1, tag.length / CHARACTERS_PER_POINT) : 1);

  const ids = [...new Set(styled)];
  const styles = [...targets(ids, 'used'), ...targets(ids, 'repeated')].map((target) => cost(target, 0));
  // Styled elements can contain styled elements, each style once.
  const factor = (1 + sum(styles) + styledFilters * FILTER_COST) ** Math.max(styles.length, Math.min(1, styledFilters));
  return cost(root, 0) * factor;
}

/**
 * Returns how an element is drawn where it is referenced: once, or also for all descendants, which inherit the
 * reference. Gradients take a constant time.
 */
function kindOf(name: string): 'used' | 'repeated' | 'gradient' {
  if (name.endsWith('Gradient')) return 'gradient';
  return name === 'pattern' || name === 'marker' ? 'repeated' : 'used';
}

function ownCost({ name, tag, textLength }: SvgElement): number {
  const size = 1 + (tag.length + textLength) / CHARACTERS_PER_SHAPE + filterFunctionsIn(tag) * FILTER_COST;
  // These take a time that depends on their numbers.
  if (/^fe(Turbulence|ConvolveMatrix|Morphology)$/.test(name)) return Infinity;
  if (/^fe(?!Func|MergeNode)/.test(name)) return size + FILTER_COST;
  const isSlow = name === 'foreignObject' || tag.includes('dasharray') || (name === 'g' && tag.includes('opacity'));
  return isSlow ? size + SLOW_COST : size;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
