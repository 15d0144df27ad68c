import { quoted } from '../domain/error.ts';
import type { AccessFile } from './access-file.ts';
import { isCheap, readPasswordHash } from './passwords.ts';
import type { Grant, Person } from './policy.ts';

/** What is right in an access file, and perhaps not meant, a line each. */
export function findDoubtful({ people, grants, lineOf }: Omit<AccessFile, 'notes' | 'policy'>): string[] {
  const known = new Set(people.flatMap(({ groups }) => groups));
  return [
    ...grants.flatMap((grant) => {
      const at = `line ${lineOf(grant)}`;
      return [...noteOnGroup(grant, known, at), ...notesOnFolder(grant, at)];
    }),
    ...people.flatMap(notesOnPerson),
  ];
}

/** A provider may tell of a group that nobody here belongs to, or its name is written wrong. */
function noteOnGroup({ to }: Grant, known: ReadonlySet<string>, at: string): string[] {
  if (to.kind !== 'group' || known.has(to.name)) return [];
  return [`Nobody in the file belongs to the group ${quoted(to.name)} of ${at}; a provider may tell of it.`];
}

function notesOnFolder({ folder }: Grant, at: string): string[] {
  const path = `${quoted(`/${folder}`)} of ${at}`;
  const names = folder.split('/').slice(0, -1);
  const notes = [
    folder.includes('*') && `The * in ${path} is a character like others; a grant is for all below its folder anyway.`,
    folder.includes('\\') && `The \\ in ${path} is a character like others; folders are parted by "/".`,
    folder.startsWith('.holdall/') && `Of ${path}: a service of a disk keeps its own things there, and serves none.`,
    names.some((name) => name.trim() !== name) && `A name in ${path} begins or ends with a space.`,
  ];
  return notes.filter((note) => note !== false);
}

function notesOnPerson({ name, password, tokens }: Person): string[] {
  const who = quoted(name);
  const reading = password === undefined ? undefined : readPasswordHash(password);
  const isGuessable = reading !== undefined && 'cost' in reading && isCheap(reading);
  const expired = tokens.filter(({ expires }) => expires !== undefined && expires.getTime() <= Date.now());
  const notes = [
    isGuessable && `The password of ${who} is hashed so that guessing it costs little.`,
    password !== undefined && name.includes(':') && `${who} can't use Authorization: Basic, where a name has no ":".`,
    password === undefined &&
      tokens.length === 0 &&
      `${who} has no password and no token, and comes by a provider only.`,
    ...expired.map((token) => `The token ${quoted(token.name)} of ${who} has expired.`),
  ];
  return notes.filter((note) => note !== false);
}
