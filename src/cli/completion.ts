import { quoted } from '../model/error.ts';
import { EXIT_CODES } from '../system.ts';
import { type CommandSpec, defineCommand, UsageError } from './command.ts';

/** A word that can follow a command, and its meaning. */
interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

/** The words that can follow each command or group, by its words: `token new`. The program itself is ''. */
type Candidates = ReadonlyMap<string, readonly Candidate[]>;

/** Creates `holdall completion`, which prints a script that completes `commands` and itself. */
export function createCompletion(
  commands: readonly CommandSpec[],
  groups: Readonly<Record<string, string>>,
): CommandSpec {
  const completion = defineCommand({
    name: 'completion',
    arguments: { '<shell>': `One of ${Object.keys(SCRIPTS).join(', ')}` },
    summary: 'Print a script that completes commands in a shell',
    details: 'To complete in every shell, add the line of the example to ~/.bashrc, ~/.zshrc or config.fish.',
    examples: {
      'source <(holdall completion bash)': 'Complete in this bash',
      'source <(holdall completion zsh)': 'Complete in this zsh, after compinit',
      'holdall completion fish | source': 'Complete in this fish',
    },
    async run({ args: [shell = ''], print }) {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (!script) {
        throw new UsageError(`The shell must be one of ${Object.keys(SCRIPTS).join(', ')}, not ${quoted(shell)}.`);
      }
      print(script(collectCandidates([...commands, completion], groups)));
      return EXIT_CODES.ok;
    },
  });
  return completion;
}

function collectCandidates(commands: readonly CommandSpec[], groups: Readonly<Record<string, string>>): Candidates {
  const candidates = new Map<string, Candidate[]>([['', []]]);
  const add = (path: string, candidate: Candidate) => {
    const known = candidates.get(path) ?? [];
    candidates.set(path, known);
    if (!known.some(({ word }) => word === candidate.word)) known.push(candidate);
  };
  for (const { name, summary, options = [] } of commands) {
    const [first = '', second] = name.split(' ');
    add('', { word: first, meaning: second === undefined ? summary : (groups[first] ?? '') });
    if (second !== undefined) {
      // `holdall help token new` takes the words of a command.
      for (const path of [first, `help ${first}`]) add(path, { word: second, meaning: summary });
    }
    for (const { flags, help } of options) add(name, { word: longFlag(flags), meaning: help });
    add(name, HELP_CANDIDATE);
  }
  for (const candidate of [HELP_CANDIDATE, { word: '--version', meaning: 'Print the version and the commit' }])
    add('', candidate);
  for (const shell of Object.keys(SCRIPTS))
    add('completion', { word: shell, meaning: `Print the script for ${shell}` });
  for (const { word, meaning } of candidates.get('') ?? []) if (!word.startsWith('-')) add('help', { word, meaning });
  return candidates;
}

const HELP_CANDIDATE: Candidate = { word: '--help', meaning: 'Print the help of a command' };

/** Returns the long form of an option: `--port` for `-p, --port <port>`. */
function longFlag(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

const SCRIPTS: Readonly<Record<string, (candidates: Candidates) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Returns a word quoted for any of the shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the patterns of a `case` statement that matches the words of commands. */
function commandPatterns(candidates: Candidates): string {
  return [...candidates.keys()]
    .filter((path) => path !== '')
    .map((path) => quote(`holdall ${path}`))
    .join('|');
}

const bodyOf = (path: string) => quote(path === '' ? 'holdall' : `holdall ${path}`);

function bashScript(candidates: Candidates): string {
  const cases = [...candidates].map(
    ([path, words]) => `    ${bodyOf(path)}) words=${quote(words.map(({ word }) => word).join(' '))} ;;`,
  );
  return `# Completion of holdall for bash: source <(holdall completion bash)
_holdall() {
  local current=\${COMP_WORDS[COMP_CWORD]} command=holdall word words=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
    ${commandPatterns(candidates)}) command="$command $word" ;;
    esac
  done
  case $command in
${cases.join('\n')}
  esac
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _holdall holdall
`;
}

function zshScript(candidates: Candidates): string {
  const entry = ({ word, meaning }: Candidate) => quote(`${word}:${meaning}`);
  const cases = [...candidates].map(
    ([path, words]) => `    ${bodyOf(path)}) candidates=(${words.map(entry).join(' ')}) ;;`,
  );
  return `#compdef holdall
# Completion of holdall for zsh: source <(holdall completion zsh)
_holdall() {
  local command=holdall word
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
    ${commandPatterns(candidates)}) command="$command $word" ;;
    esac
  done
  case $command in
${cases.join('\n')}
  esac
  _describe 'command or option' candidates
  _files
}
if [[ \${funcstack[1]} == _holdall ]]; then _holdall "$@"; else compdef _holdall holdall; fi
`;
}

function fishScript(candidates: Candidates): string {
  const lines = [...candidates].flatMap(([path, words]) =>
    words.map(({ word, meaning }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
      return `complete -c holdall -n ${quote(`__holdall_is ${fishQuote(path)}`)} ${what} -d ${fishQuote(meaning)}`;
    }),
  );
  const paths = [...candidates.keys()].filter((path) => path !== '').map(fishQuote);
  return `# Completion of holdall for fish
function __holdall_is
  set -l command ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$command $word")
    if contains -- $longer ${paths.join(' ')}
      set command $longer
    end
  end
  test "$command" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** Returns a word in double quotes of fish. */
function fishQuote(text: string): string {
  return `"${text.replace(/["$\\]/g, '\\$&')}"`;
}
