import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandFailed } from './command.ts';

/** The exit code of a program that Ctrl+C ended, as shells have it. */
const INTERRUPTED = 130;

/** Asks for lines on a terminal, one after the other, and shows nothing of what is typed. */
export async function promptHidden(
  stdin: NodeJS.ReadableStream,
  show: (text: string) => void,
  questions: readonly string[],
): Promise<string[]> {
  // What readline writes is what was typed: it edits a line as people are used to, and nobody sees it.
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Before the first question, so that the terminal shows nothing that is typed at once.
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
