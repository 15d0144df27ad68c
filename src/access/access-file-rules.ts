import { isStoreError, quoted } from '../domain/error.ts';
import { parseInstant } from '../domain/instant.ts';
import type { NameComparison } from '../domain/name-comparison.ts';
import { parseFolder } from '../domain/path.ts';
import { describeValue, isSubjectShape, type SubjectShape } from './access-file-shape.ts';
import type { JsonPath, LocatedJson, Mistake } from './located-json.ts';
import { readPasswordHash } from './passwords.ts';
import { keyOf, type Subject } from './policy.ts';

/**
 * Returns all violations of rules other than the shape. Checks every part with a valid shape even if other parts are
 * invalid, so that one run reports all mistakes.
 */
export function findBrokenRules(json: LocatedJson, names: NameComparison): Mistake[] {
  const { people, grants } = isRecord(json.value) ? json.value : {};
  const mistakes: Mistake[] = [];
  const report: Report = (path, text) => void mistakes.push(json.mistakeAt(path, text));
  const owners = new Map<string, string>();
  for (const [name, person] of Object.entries(isRecord(people) ? people : {})) {
    if (isRecord(person)) checkPerson(name, person, { owners, report });
  }
  const first = new Map<string, number>();
  for (const [index, grant] of listOf(grants).entries()) {
    if (!isRecord(grant)) continue;
    const path = ['grants', index];
    const folder = checkFolder(grant['folder'], [...path, 'folder'], report);
    const { to } = grant;
    if (!isSubjectShape(to)) continue;
    const subject = readSubject(to);
    if (subject.kind === 'person' && !(isRecord(people) && Object.hasOwn(people, subject.name))) {
      report([...path, 'to', 'person'], `must be a name of "people", and is ${quoted(subject.name)}.`);
    }
    const key = folder === undefined ? '' : `${names.possible(folder)}\0${keyOf(subject)}`;
    const before = folder === undefined ? undefined : first.get(key);
    if (before === undefined) first.set(key, index);
    else report(path, `is for the same folder and the same ones as that of line ${json.lineOf(['grants', before])}.`);
  }
  return mistakes;
}

/** Returns the subject of a grant. */
export function readSubject(to: SubjectShape): Subject {
  if (typeof to === 'string') return { kind: to };
  return 'person' in to ? { kind: 'person', name: to.person } : { kind: 'group', name: to.group };
}

type Report = (path: JsonPath, text: string) => void;

/** Checks one user. `owners` maps each token's hash to its user. */
function checkPerson(
  name: string,
  { password, tokens }: Readonly<Record<string, unknown>>,
  { owners, report }: { owners: Map<string, string>; report: Report },
): void {
  const path = ['people', name];
  const reading = typeof password === 'string' ? readPasswordHash(password) : undefined;
  if (reading && 'problem' in reading) report([...path, 'password'], `${reading.problem}.`);
  const names = new Set<unknown>();
  for (const [index, token] of listOf(tokens).entries()) {
    if (!isRecord(token)) continue;
    const at = [...path, 'tokens', index];
    if (names.has(token['name'])) report([...at, 'name'], 'is the name of another token of this person already.');
    if (typeof token['name'] === 'string') names.add(token['name']);
    checkExpiry(token['expires'], [...at, 'expires'], report);
    const { hash } = token;
    if (typeof hash !== 'string') continue;
    const owner = owners.get(hash);
    if (owner === undefined) owners.set(hash, name);
    else report([...at, 'hash'], `is the hash of a token of ${quoted(owner)} already.`);
  }
}

function checkExpiry(expires: unknown, path: JsonPath, report: Report): void {
  if (typeof expires !== 'string' || parseInstant(expires)) return;
  report(path, `must be an instant with its zone, such as "2027-01-01T00:00:00Z"${describeValue(path, expires)}.`);
}

function checkFolder(text: unknown, path: JsonPath, report: Report): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    return parseFolder(text);
  } catch (error) {
    if (!isStoreError(error)) throw error;
    report(path, `must be the path of a folder. ${error.message}`);
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
