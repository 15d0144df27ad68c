import { isName } from '../access/names.ts';
import { createToken } from '../access/tokens.ts';
import { type CommandContext, readArguments, UsageError } from './command.ts';
import { readExpiry } from './expiry.ts';

/** `holdall token new`: prints a new token, which is kept nowhere, and what to put into the access file for it. */
export async function makeToken({ args, print, explain }: CommandContext): Promise<number> {
  const { values } = readArguments('token new', args, {
    options: { expires: { type: 'string' }, name: { type: 'string' } },
    names: [],
  });
  const now = new Date();
  const name = values.name ?? `token of ${now.toISOString().slice(0, 10)}`;
  if (!isName(name)) {
    throw new UsageError('token new', '--name must have 1 to 200 characters, and no control characters.');
  }
  const expires = values.expires === undefined ? undefined : readExpiry(values.expires, now);
  const { token, hash } = createToken();
  explain(`The token, which is shown this once and is as good as a password:\n`);
  print(`${token}\n`);
  explain(`For the access file, into "tokens" of the person whom it is to stand for:\n`);
  explain(`${JSON.stringify({ name, hash, ...(expires && { expires }) }, null, 2)}\n`);
  return 0;
}
