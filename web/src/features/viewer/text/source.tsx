import { Component, type ComponentChildren } from 'preact';
import type { Text } from '../../../platform/text/language.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { useTools, type ViewerState, type ViewerTool } from '../viewer-tools.ts';
import type { TextBlock } from './text-blocks.ts';
import './source.css';

interface SourceProps {
  /** The name of the file, by which the region is called. */
  name: string;
  blocks: readonly TextBlock[];
  viewer: ViewerState;
  /** What comes after the last line. */
  children?: ComponentChildren;
}

/** Lines of text with their numbers, wrapped or not. */
export function Source({ name, blocks, viewer, children }: SourceProps) {
  const { text } = useFullLanguage();
  const { isWrapped } = viewer;
  const last = blocks.at(-1);
  const digits = String(last ? last.firstLine + last.lines.length - 1 : 1).length;
  return (
    <div
      class={`source ${isWrapped.value ? 'wrapped' : ''}`}
      style={{ '--digits': `${Math.max(2, digits)}ch` }}
      role="region"
      aria-label={text.previews.contentsOf({ name })}
      tabIndex={0}
      data-scroller
    >
      <div class="lines" dir="auto" translate={false}>
        {blocks.map((block) => (
          <Block key={block.firstLine} block={block} />
        ))}
      </div>
      {children}
    </div>
  );
}

/** Wraps lines, or has them run on beyond the edge. */
export function wrapTool({ isWrapped }: ViewerState, { previews }: Text): ViewerTool {
  const pressed = isWrapped.value;
  return {
    id: 'wrap',
    button: { icon: 'wrap', label: previews.wrap, pressed },
    keys: ['w'],
    run: () => {
      isWrapped.value = !pressed;
    },
  };
}

export function useWrapTool(viewer: ViewerState): void {
  const { text } = useFullLanguage();
  useTools(viewer, () => [wrapTool(viewer, text)], [viewer.isWrapped.value, text]);
}

/** Blocks never change: drawing them again, of a long text, would take a noticeable time. */
class Block extends Component<{ block: TextBlock }> {
  override shouldComponentUpdate({ block }: { block: TextBlock }): boolean {
    return block !== this.props.block;
  }

  override render({ block: { firstLine, lines } }: { block: TextBlock }) {
    return (
      <code class="block" style={{ '--first-line': firstLine - 1, '--lines': lines.length }}>
        {lines.map((line) => (
          <span class="line">{isEmpty(line) ? <br /> : line}</span>
        ))}
      </code>
    );
  }
}

/** An empty line takes the space of one by a line break alone, and has one too when it is copied. */
function isEmpty(line: ComponentChildren): boolean {
  return line === '' || (Array.isArray(line) && line.length === 0);
}
