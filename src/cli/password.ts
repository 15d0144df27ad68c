import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { hashPassword, isUsablePassword, MAX_PASSWORD_BYTES } from '../access/credentials.ts';
import { type CommandContext, CommandFailed, type Input, readArguments } from './command.ts';

/**
 * `holdall password`: prints the hash of a password. On a terminal, it prompts twice without echo. Otherwise it reads
 * all of stdin and removes one trailing line break.
 */
export async function makePassword({ args, stdin, print, explain }: CommandContext): Promise<number> {
  readArguments('password', args, { options: {}, names: [] });
  const password = stdin.isTTY ? await askTwice(stdin, explain) : await readAll(stdin);
  if (password === '') throw new CommandFailed('The password is empty.');
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) throw tooLong();
  if (!isUsablePassword(password)) {
    throw new CommandFailed(
      'The password has a line break or another control character in it, which no form can send.',
    );
  }
  if (Array.from(password).length < LEAST_CHARACTERS) {
    throw new CommandFailed(`The password has fewer than ${LEAST_CHARACTERS} characters: such are soon guessed.`);
  }
  print(`${await hashPassword(password)}\n`);
  return 0;
}

/** Minimum length in NIST SP 800-63B-3 (section 5.1.1.2), which also counts code points. */
const LEAST_CHARACTERS = 8;

async function askTwice(stdin: Input, explain: (text: string) => void): Promise<string> {
  const [password, again] = await promptHidden(stdin, explain, ['Password: ', 'Once more: ']);
  if (password !== again) throw new CommandFailed('The two are not the same.');
  return password ?? '';
}

async function readAll(stdin: Input): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // Stops reading as soon as the password is known to be too long.
    if (length > MAX_PASSWORD_BYTES + LINE_BREAK) throw tooLong();
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
const LINE_BREAK = 2;

function tooLong(): CommandFailed {
  return new CommandFailed(`The password has more than ${MAX_PASSWORD_BYTES} bytes.`);
}

/** Exit code after Ctrl+C, as shells define it. */
const INTERRUPTED = 130;

/** Prompts for lines on a terminal, in order, without echo. */
export async function promptHidden(
  stdin: NodeJS.ReadableStream,
  show: (text: string) => void,
  questions: readonly string[],
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
  const answers: string[] = [];
  const each = lines[Symbol.asyncIterator]();
  try {
    for (const question of questions) {
      show(question);
      const answer = await each.next();
      show('\n');
      if (answer.done) throw new CommandFailed('Nothing was entered.', { code: isInterrupted ? INTERRUPTED : 1 });
      answers.push(answer.value);
    }
  } finally {
    lines.close();
  }
  return answers;
}
