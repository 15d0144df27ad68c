import { type MessageFormatElement, TYPE } from '@formatjs/icu-messageformat-parser';
import { type CatalogueSource, compileCatalogue, moduleOf, parseMessage } from '../../web/message-compiler.ts';

/** The type of a parameter: a number, any text, or one of the keys of a `select`. */
type ParameterType = 'number' | 'string' | readonly string[];

/** Returns the TypeScript module that declares the texts and the parameters of each message. */
export function declareText(english: CatalogueSource): string {
  return [
    '// Generated from catalogues/en.json by "npm run messages".',
    '',
    '/** The texts that the page loads before it renders. */',
    `export interface InitialText ${declareGroup(
      selectGroups(english, (group) => moduleOf(group) === 'initial'),
      '',
    )}`,
    '',
    '/** The texts that only lazily loaded code uses. */',
    `export interface LazyText ${declareGroup(
      selectGroups(english, (group) => moduleOf(group) === 'lazy'),
      '',
    )}`,
    '',
    '/** The texts of the dialog that describes how clients connect. */',
    `export interface ConnectText ${declareGroup(
      selectGroups(english, (group) => moduleOf(group) === 'connect'),
      '',
    )}`,
    '',
    '/** The texts of the page that the service worker shows without a connection. */',
    `export interface OfflineText ${declareGroup(
      selectGroups(english, (group) => moduleOf(group) === 'offline'),
      '',
    )}`,
    '',
    'export type Text = InitialText & LazyText;',
    '',
  ].join('\n');
}

function selectGroups(english: CatalogueSource, isSelected: (group: string) => boolean): CatalogueSource {
  return Object.fromEntries(Object.entries(english).filter(([group]) => isSelected(group)));
}

function declareGroup(group: CatalogueSource, indent: string): string {
  const lines = Object.entries(group).map(
    ([key, entry]) => `${indent}  readonly ${declareKey(key)}: ${declareEntry(entry, `${indent}  `)}`,
  );
  return `{\n${lines.join('\n')}\n${indent}}`;
}

const declareKey = (key: string) => (/^\w+$/.test(key) ? key : `'${key}'`);

function declareEntry(entry: string | CatalogueSource, indent: string): string {
  if (typeof entry !== 'string') return `${declareGroup(entry, indent)};`;
  const parameters = parametersOf(parseMessage(entry));
  if (parameters.size === 0) return 'string;';
  const members = [...parameters].map(([name, type]) => `${name}: ${declareType(type)}`);
  return `(parameters: { ${members.join('; ')} }) => string;`;
}

function declareType(type: ParameterType): string {
  return typeof type === 'string' ? type : type.map((key) => `'${key}'`).join(' | ');
}

export interface CatalogueCheck {
  readonly tag: string;
  readonly catalogue: CatalogueSource;
  readonly english: CatalogueSource;
}

/** Returns what is wrong with a catalogue, one sentence for each mistake. */
export function checkCatalogue({ tag, catalogue, english }: CatalogueCheck): string[] {
  const messages = messagesOf(catalogue);
  const expected = messagesOf(english);
  const missing = [...expected.keys()].filter((key) => !messages.has(key)).map((key) => `${key} is missing.`);
  const problems = [...messages].flatMap(([key, source]) => {
    const model = expected.get(key);
    return model === undefined
      ? [`${key} does not exist in English.`]
      : checkMessage(source, model, tag).map((problem) => `${key} ${problem}.`);
  });
  return [...missing, ...problems];
}

/** Returns all messages by their keys, such as `folder.items`. */
function messagesOf(group: CatalogueSource, parent = ''): Map<string, string> {
  const entries = Object.entries(group).flatMap(([key, entry]) => {
    const path = parent + key;
    return typeof entry === 'string' ? [[path, entry] as const] : [...messagesOf(entry, `${path}.`)];
  });
  return new Map(entries);
}

function checkMessage(source: string, english: string, tag: string): string[] {
  const problems = checkCharacters(source);
  try {
    compileCatalogue({ message: source });
  } catch (error) {
    return [...problems, `has invalid syntax: ${error instanceof Error ? error.message : String(error)}`];
  }
  const elements = parseMessage(source);
  return [
    ...problems,
    ...checkParameters(parametersOf(elements), parametersOf(parseMessage(english))),
    ...elementsOf(elements).flatMap((element) => checkPlural(element, tag)),
  ];
}

/** ASCII quotes also escape syntax in ICU MessageFormat, so the typographic ones are safer and look better. */
function checkCharacters(source: string): string[] {
  return [
    ...(source.trim() === '' ? ['is empty'] : []),
    ...(source === source.trim() ? [] : ['begins or ends with a space']),
    ...(/['"]|\.\.\./.test(source) ? ['contains a straight quote or three dots instead of the typographic ones'] : []),
  ];
}

function checkParameters(
  parameters: ReadonlyMap<string, ParameterType>,
  english: ReadonlyMap<string, ParameterType>,
): string[] {
  return [...parameters].flatMap(([name, type]) => {
    const expected = english.get(name);
    if (expected === undefined) return [`uses the parameter "${name}", which English lacks`];
    const isCompatible =
      type === 'string' || type === expected || (isChoice(type) && isChoice(expected) && isSubset(type, expected));
    return isCompatible ? [] : [`uses the parameter "${name}" as ${declareType(type)}, not ${declareType(expected)}`];
  });
}

const isChoice = (type: ParameterType): type is readonly string[] => typeof type !== 'string';
const isSubset = (keys: readonly string[], all: readonly string[]) => keys.every((key) => all.includes(key));

/** Whole numbers that cover all plural categories of all languages in CLDR. */
const SAMPLES = [...Array(201).keys(), 1_000, 1_000_000];

function checkPlural(element: MessageFormatElement, tag: string): string[] {
  if (element.type !== TYPE.plural) return [];
  const rules = new Intl.PluralRules(tag);
  const keys = Object.keys(element.options);
  const needed = new Set(
    SAMPLES.filter((number) => !keys.includes(`=${number}`)).map((number) => rules.select(number)),
  );
  const known: readonly string[] = rules.resolvedOptions().pluralCategories;
  const lacking = [...needed].filter((category) => !keys.includes(category));
  const unknown = keys.filter((key) => !key.startsWith('=') && !known.includes(key));
  return [
    ...lacking.map((category) => `lacks the plural category "${category}" of "${element.value}"`),
    ...unknown.map((category) => `has the plural category "${category}", which the language lacks`),
  ];
}

function parametersOf(elements: readonly MessageFormatElement[]): Map<string, ParameterType> {
  const parameters = new Map<string, ParameterType>();
  for (const element of elementsOf(elements)) {
    const type = parameterTypeOf(element);
    if (type === undefined || !('value' in element)) continue;
    // The type of a plain argument is that of its other uses.
    if (type !== 'string' || !parameters.has(element.value)) parameters.set(element.value, type);
  }
  return parameters;
}

function parameterTypeOf(element: MessageFormatElement): ParameterType | undefined {
  switch (element.type) {
    case TYPE.argument:
      return 'string';
    case TYPE.number:
    case TYPE.plural:
      return 'number';
    case TYPE.select:
      return Object.keys(element.options);
    default:
      return undefined;
  }
}

/** Returns the elements of a message and of all its options. */
function elementsOf(elements: readonly MessageFormatElement[]): MessageFormatElement[] {
  return elements.flatMap((element) =>
    element.type === TYPE.plural || element.type === TYPE.select
      ? [element, ...Object.values(element.options).flatMap(({ value }) => elementsOf(value))]
      : [element],
  );
}
