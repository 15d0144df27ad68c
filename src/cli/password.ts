import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { hashPassword, isUsablePassword, MAX_PASSWORD_BYTES } from '../access/credentials.ts';
import { EXIT_CODES } from '../system.ts';
import { type CommandContext, CommandFailed, defineCommand, type Input } from './command.ts';

/** `holdall password`: prints the hash of a password. */
export const PASSWORD = defineCommand({
  name: 'password',
  summary: 'Print the hash of a password for the access file',
  details:
    'Prompts for the password twice. If stdin is not a terminal, reads it from stdin without the last line break.',
  examples: { 'holdall password': 'Print a hash for "password" in the access file' },
  async run({ stdin, print, explain }) {
    print(`${await readPasswordHash({ stdin, explain })}\n`);
    return EXIT_CODES.ok;
  },
});

/**
 * Returns the hash of a password. On a terminal, prompts twice without echo. Otherwise reads all of stdin and removes
 * one trailing line break. Throws `CommandFailed` for an unusable password.
 */
export async function readPasswordHash({ stdin, explain }: Pick<CommandContext, 'stdin' | 'explain'>): Promise<string> {
  const password = stdin.isTTY ? await promptTwice(stdin, explain) : await readAll(stdin);
  if (password === '') throw new CommandFailed('The password is empty.');
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) throw tooLong();
  if (!isUsablePassword(password)) {
    throw new CommandFailed("The password contains a line break or another control character. Forms can't send those.");
  }
  if (Array.from(password).length < MIN_PASSWORD_CHARACTERS) {
    throw new CommandFailed(
      `The password has fewer than ${MIN_PASSWORD_CHARACTERS} characters, which is easy to guess.`,
    );
  }
  return hashPassword(password);
}

/** Minimum length in NIST SP 800-63B-3 (section 5.1.1.2), which also counts code points. */
const MIN_PASSWORD_CHARACTERS = 8;

async function promptTwice(stdin: Input, explain: (text: string) => void): Promise<string> {
  const [password, again] = await promptHidden(stdin, explain, ['Password: ', 'Repeat password: ']);
  if (password !== again) throw new CommandFailed("The passwords don't match.");
  return password ?? '';
}

async function readAll(stdin: Input): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // Stops reading as soon as the password is known to be too long.
    if (length > MAX_PASSWORD_BYTES + MAX_LINE_BREAK_BYTES) throw tooLong();
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      .decode(Buffer.concat(chunks))
      .replace(/\r?\n$/, '');
  } catch {
    throw new CommandFailed('The password is not UTF-8.');
  }
}

/** Maximum bytes of a line break. */
const MAX_LINE_BREAK_BYTES = 2;

function tooLong(): CommandFailed {
  return new CommandFailed(`The password has more than ${MAX_PASSWORD_BYTES} bytes.`);
}

/** Prompts for lines on a terminal, in order, without echo. */
export async function promptHidden(
  stdin: NodeJS.ReadableStream,
  show: (text: string) => void,
  prompts: readonly string[],
): Promise<string[]> {
  // readline provides line editing and echoes the input. This stream discards the echo.
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Created before the first prompt, so that early input is not echoed either.
  const lines = createInterface({ input: stdin, output: hidden, terminal: true, historySize: 0 });
  let isInterrupted = false;
  lines.on('SIGINT', () => {
    isInterrupted = true;
    lines.close();
  });
  const inputs: string[] = [];
  const input = lines[Symbol.asyncIterator]();
  try {
    for (const prompt of prompts) {
      show(prompt);
      const line = await input.next();
      show('\n');
      if (line.done)
        throw new CommandFailed('Nothing was entered.', {
          code: isInterrupted ? EXIT_CODES.interrupted : EXIT_CODES.failed,
        });
      inputs.push(line.value);
    }
  } finally {
    lines.close();
  }
  return inputs;
}
