import { url as readUrl } from '../settings/readers.ts';
import { EXIT_CODES } from '../system.ts';
import { defineCommand, JSON_OPTION, type JsonOptions, UsageError } from './command.ts';

interface DoctorOptions extends JsonOptions {
  readonly url?: string;
  readonly token?: string;
}

/** `holdall doctor`: checks the settings, the store and the public URL, and prints advice for each problem. */
export const DOCTOR = defineCommand<DoctorOptions>({
  name: 'doctor',
  summary: 'Check the settings, the store and the reverse proxy',
  details:
    'Prints advice for each problem. Writes a folder of its own to the store, unless READ_ONLY=true, and removes it.',
  options: [
    { flags: '--url <url>', help: 'URL of the service (default: PUBLIC_URL)' },
    { flags: '--token <token>', help: 'Access token, better given as HOLDALL_TOKEN' },
    JSON_OPTION,
  ],
  examples: {
    'holdall doctor': 'Check with the settings of .env and the environment',
    'holdall doctor --url https://files.example.org': 'Check also the service at this URL',
  },
  async run({ options, loadEnvironment, print }) {
    const parsedUrl = options.url === undefined ? undefined : readUrl({ path: true })(options.url);
    if (parsedUrl && 'problem' in parsedUrl) throw new UsageError(`--url ${parsedUrl.problem}.`);
    const { variables } = await loadEnvironment();
    // Loaded on demand, because it is large and other commands don't need it.
    const { examine } = await import('../doctor/examine.ts');
    using interrupts = interruptSignals();
    const isHealthy = await examine({
      environment: variables,
      url: parsedUrl?.value,
      token: options.token ?? (variables['HOLDALL_TOKEN'] || undefined),
      json: options.json ?? false,
      print,
      signal: interrupts.first,
      abortRemoval: interrupts.second,
    });
    if (interrupts.first.aborted) return EXIT_CODES.interrupted;
    return isHealthy ? EXIT_CODES.ok : EXIT_CODES.failed;
  },
});

/** Returns two signals: the first interrupt aborts the first one, the second interrupt the other one. */
function interruptSignals() {
  const [first, second] = [new AbortController(), new AbortController()];
  const end = () => (first.signal.aborted ? second : first).abort(new Error('Interrupted'));
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) process.on(name, end);
  return {
    first: first.signal,
    second: second.signal,
    [Symbol.dispose]() {
      for (const name of names) process.off(name, end);
    },
  };
}
