import { parseAccessFile } from '../access/access-file.ts';
import { readAccessFile } from '../access/access-file-text.ts';
import { type CommandContext, readArguments } from './command.ts';

/** `holdall access check FILE`: says that an access file is right, or every mistake in it. */
export async function checkAccess({ args, print }: CommandContext): Promise<number> {
  const { positionals } = readArguments('access check', args, { options: {}, names: ['FILE'] });
  const [file = ''] = positionals;
  const { text } = await readAccessFile(file);
  const { people, grants, notes } = parseAccessFile(text, file);
  const tokens = people.flatMap((person) => person.tokens).length;
  const counts = [count(people.length, 'person', 'people'), count(tokens, 'token'), count(grants.length, 'grant')];
  print(`${file} is right: ${counts.join(', ')}.\n`);
  for (const note of notes) print(`  ${note}\n`);
  return 0;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
