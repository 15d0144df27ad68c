import { useMemo, useState } from 'preact/hooks';
import { useFullLanguage } from '../../../platform/text/language.ts';
import { Button } from '../../../ui/button.tsx';
import { showBidiControls } from '../text/bidi-controls.tsx';
import { BidiLimit } from '../text/bidi-parts.ts';
import { TextFallback, WholeText, WithSource } from '../text/rendered-text.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { type JsonMember, type JsonValue, parseJson } from './parse-json.ts';
import './json-tree.css';

/** Renders JSON as a collapsible tree, and invalid JSON as text. */
export function JsonPreview({ entry, viewer }: PreviewProps) {
  return <WholeText entry={entry}>{(source) => <Json {...{ entry, viewer, source }} />}</WholeText>;
}

function Json({ entry, viewer, source }: PreviewProps & { source: string }) {
  const { text } = useFullLanguage();
  const parsed = useMemo(() => parseJson(new BidiLimit().applyToJson(source)), [source]);
  if (parsed === 'invalid') return <TextFallback {...{ entry, viewer }} reason={text.previews.invalidJson} />;
  if (parsed === 'too-deep') return <TextFallback {...{ entry, viewer }} reason={text.previews.jsonTooDeep} />;
  return (
    <WithSource name={entry.name} text={source} viewer={viewer}>
      <JsonTree name={entry.name} value={parsed} />
    </WithSource>
  );
}

/** The number of levels that are expanded at first. */
const EXPANDED_LEVELS = 2;
/** The maximum number of members of a value, except the root, that is expanded at first. */
const MAX_EXPANDED_MEMBERS = 50;
/** The number of members of a value that are rendered at first, and per click on "Show more". */
const MEMBERS_PER_STEP = 200;
/** The number of characters of a string that are rendered at first; each click on "Show more" renders ten times as many. */
const STRING_LENGTH = 10_000;
/** The maximum number of characters of a key. Its rest is only in the source. */
const MAX_KEY_LENGTH = 1_000;

/** Renders a JSON value. Members are rendered when the user expands it. */
function JsonTree({ name, value }: { name: string; value: JsonValue }) {
  const { text } = useFullLanguage();
  return (
    <div
      class="json-tree"
      role="region"
      aria-label={text.previews.contentsOf({ name })}
      tabIndex={0}
      dir="ltr"
      data-scroller
    >
      <Value value={value} depth={0} />
    </div>
  );
}

interface ValueProps {
  /** The key or the index in the parent value. */
  label?: string | undefined;
  value: JsonValue;
  depth: number;
}

function Value({ label, value, depth }: ValueProps) {
  switch (value.kind) {
    case 'list':
    case 'object': {
      const { kind, members } = value;
      const isList = kind === 'list';
      if (members.length > 0) return <Members {...{ label, members, isList, depth }} />;
      return <Leaf label={label} kind="empty" shown={isList ? '[ ]' : '{ }'} />;
    }
    case 'string':
      // Shows the string with as few escapes as possible.
      return <Leaf label={label} kind="string" shown={JSON.stringify(JSON.parse(value.source))} />;
    default:
      return <Leaf label={label} kind={value.kind} shown={value.source} />;
  }
}

function Leaf({ label, kind, shown }: { label: string | undefined; kind: string; shown: string }) {
  const { text } = useFullLanguage();
  const [length, setLength] = useState(STRING_LENGTH);
  return (
    <div class="leaf">
      <Label label={label} />
      <bdi class={`value ${kind}`}>{showBidiControls(cut(shown, length))}</bdi>
      {length < shown.length && <Button onClick={() => setLength(length * 10)}>{text.previews.showMore}</Button>}
    </div>
  );
}

/** Returns the first characters of a text, with an ellipsis if there are more. */
function cut(text: string, length: number): string {
  // Without the first half of a character.
  return text.length <= length ? text : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…`;
}

interface MembersProps extends Omit<ValueProps, 'value'> {
  members: readonly JsonMember[];
  isList: boolean;
}

function Members({ label, members, isList, depth }: MembersProps) {
  const { text } = useFullLanguage();
  const [isOpen, setOpen] = useState(
    depth < EXPANDED_LEVELS && (depth === 0 || members.length <= MAX_EXPANDED_MEMBERS),
  );
  const [count, setCount] = useState(MEMBERS_PER_STEP);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Label label={label} />
        <span class="summary">
          {isList ? '[ ' : '{ '}
          <bdi>{text.folder.items({ count: members.length })}</bdi>
          {isList ? ' ]' : ' }'}
        </span>
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, count).map(([key, value], index) => (
            <li key={index}>
              <Value label={key} value={value} depth={depth + 1} />
            </li>
          ))}
          {count < members.length && (
            <li>
              <Button onClick={() => setCount(count + MEMBERS_PER_STEP)}>{text.previews.showMore}</Button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}

function Label({ label }: { label: string | undefined }) {
  if (label === undefined) return null;
  return (
    <>
      <bdi class="key">{showBidiControls(cut(label, MAX_KEY_LENGTH))}</bdi>
      <span class="colon">: </span>
    </>
  );
}
