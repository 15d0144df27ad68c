import { useState } from 'preact/hooks';
import { Button } from '../../../ui/button.tsx';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import type { JsonMember, JsonValue } from './parse-json.ts';
import './json-tree.css';

/** How deep the tree is open at first, and up to how many members of one value. */
const OPEN_DEPTH = 2;
const OPEN_MEMBERS = 50;
/** How many members of one value are drawn at first, and how many more at a time. */
const STEP = 200;

/** A value of JSON. What is in it is drawn when it is opened. */
export function JsonTree({ name, value }: { name: string; value: JsonValue }) {
  const { text } = useFullLanguage();
  return (
    <div class="json" role="region" aria-label={text.previews.contentsOf({ name })} tabIndex={0} data-scroller>
      <Value value={value} depth={0} />
    </div>
  );
}

interface ValueProps {
  /** Where it stands in the value around it. */
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
      // As it is meant, with no more escapes than it needs.
      return <Leaf label={label} kind="string" shown={JSON.stringify(JSON.parse(value.source))} />;
    default:
      return <Leaf label={label} kind={value.kind} shown={value.source} />;
  }
}

function Leaf({ label, kind, shown }: { label: string | undefined; kind: string; shown: string }) {
  return (
    <div class="leaf">
      <Label label={label} />
      <span class={`value ${kind}`} dir="auto">
        {shown}
      </span>
    </div>
  );
}

interface MembersProps extends Omit<ValueProps, 'value'> {
  members: readonly JsonMember[];
  isList: boolean;
}

function Members({ label, members, isList, depth }: MembersProps) {
  const { text } = useFullLanguage();
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && (depth === 0 || members.length <= OPEN_MEMBERS));
  const [count, setCount] = useState(STEP);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Label label={label} />
        <span class="summary">
          {isList ? '[ ' : '{ '}
          {text.folder.items({ count: members.length })}
          {isList ? ' ]' : ' }'}
        </span>
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, count).map(([key, value], place) => (
            <li key={place}>
              <Value label={key} value={value} depth={depth + 1} />
            </li>
          ))}
          {count < members.length && (
            <li>
              <Button onClick={() => setCount(count + STEP)}>{text.previews.showMore}</Button>
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
      <bdi class="key">{label}</bdi>
      <span class="colon">: </span>
    </>
  );
}
