import { useState } from 'preact/hooks';
import { Button } from '../../controls/button.tsx';
import { useLanguage } from '../../page.ts';
import { ExactNumber } from './parse-json.ts';
import './json-tree.css';

/** How deep the tree is open at first, and up to how many members of one value. */
const OPEN_DEPTH = 2;
const OPEN_MEMBERS = 50;
/** How many members of one value are drawn at first, and how many more at a time. */
const STEP = 200;

/** A value of JSON. What is in it is drawn when it is opened. */
export function JsonTree({ name, value }: { name: string; value: unknown }) {
  const { text } = useLanguage();
  return (
    <div class="json" role="region" aria-label={text.previews.contentsOf(name)} tabIndex={0} data-scroller>
      <Value value={value} depth={0} />
    </div>
  );
}

interface ValueProps {
  /** Where it stands in the value around it. */
  label?: string | undefined;
  value: unknown;
  depth: number;
}

function Value({ label, value, depth }: ValueProps) {
  if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
    const isList = Array.isArray(value);
    const members = Object.entries(value);
    if (members.length > 0) return <Members {...{ label, members, isList, depth }} />;
    return <Leaf label={label} kind="empty" shown={isList ? '[ ]' : '{ }'} />;
  }
  if (value instanceof ExactNumber) return <Leaf label={label} kind="number" shown={value.source} />;
  const kind = value === null ? 'null' : typeof value;
  return <Leaf label={label} kind={kind} shown={JSON.stringify(value)} />;
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
  members: readonly (readonly [string, unknown])[];
  isList: boolean;
}

function Members({ label, members, isList, depth }: MembersProps) {
  const { text } = useLanguage();
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && (depth === 0 || members.length <= OPEN_MEMBERS));
  const [count, setCount] = useState(STEP);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Label label={label} />
        <span class="summary">
          {isList ? '[ ' : '{ '}
          {text.folder.items(members.length)}
          {isList ? ' ]' : ' }'}
        </span>
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, count).map(([key, value]) => (
            <li key={key}>
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
