import { parseInstant } from '../domain/instant.ts';
import { EXACT_NAMES } from '../domain/name-comparison.ts';
import { parseFolder } from '../domain/path.ts';
import { mistakesIn } from './access-file-error.ts';
import { findDoubtful } from './access-file-notes.ts';
import { findBrokenRules, readSubject } from './access-file-rules.ts';
import { type AccessFileShape, findShapeMistakes, isAccessFileShape } from './access-file-shape.ts';
import { locateJson } from './located-json.ts';
import { createPolicy, type Grant, type Person, type Policy } from './policy.ts';

/** A parsed access file. */
export interface AccessFile {
  readonly policy: Policy;
  readonly people: readonly Person[];
  readonly grants: readonly Grant[];
  /** Warnings about valid entries that are possibly unintended, one per line. */
  readonly notes: readonly string[];
  /** Returns the number of the line on which a grant begins. */
  lineOf(grant: Grant): number;
}

/**
 * Parses the text of an access file. Throws `AccessFileError` with every mistake and its line, column and path, such as
 * `line 7, column 20 (people.ann.tokens[0].expires): must be …`. Messages contain no hashes. `name` is the name of the
 * file in messages; `names` is how the store compares names.
 */
export function parseAccessFile(text: string, name = 'The access file', names = EXACT_NAMES): AccessFile {
  const json = locateJson(text);
  if ('problems' in json) throw mistakesIn(name, json.problems);
  const mistakes = [
    ...json.repeated,
    ...findShapeMistakes(json.value).map(({ path, text: problem, atKey }) => json.mistakeAt(path, problem, { atKey })),
    ...findBrokenRules(json, names),
  ];
  if (mistakes.length > 0 || !isAccessFileShape(json.value)) throw mistakesIn(name, json.describe(mistakes));
  const people = Object.entries(json.value.people ?? {}).map(readPerson);
  const grants = json.value.grants.map(readGrant);
  const indices = new Map(grants.map((grant, index) => [grant, index]));
  const lineOf = (grant: Grant) => json.lineOf(['grants', indices.get(grant) ?? 0]);
  const notes = findDoubtful({ people, grants, lineOf });
  return { policy: createPolicy(people, grants, names), people, grants, notes, lineOf };
}

type PersonShape = NonNullable<AccessFileShape['people']>[string];
type GrantShape = AccessFileShape['grants'][number];

function readPerson([name, { password, groups = [], tokens = [] }]: [string, PersonShape]): Person {
  return {
    name,
    password,
    groups,
    tokens: tokens.map(({ expires, ...token }) => ({ ...token, expires: expires ? parseInstant(expires) : undefined })),
  };
}

function readGrant({ folder, to, rights }: GrantShape): Grant {
  return { folder: parseFolder(folder), to: readSubject(to), rights };
}
