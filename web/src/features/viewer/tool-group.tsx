import type { ComponentChildren } from 'preact';
import { IconButton } from '../../ui/button.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { usePreferences } from '../models.ts';
import type { ViewerState, ViewerTool } from './viewer-tools.ts';

/** The tools of the preview. A component of its own, because they change with every step of a zoom. */
export function Tools({ viewer }: { viewer: ViewerState }) {
  return <ToolGroup tools={viewer.tools.value} />;
}

/** The buttons of tools. */
export function ToolGroup({ tools }: { tools: readonly ViewerTool[] }) {
  const { characterKeys } = usePreferences();
  if (!tools.some(({ button }) => button)) return null;
  return (
    <Group>
      {tools.map(
        ({ id, button, keys: [key], run }) =>
          button && (
            <IconButton
              key={id}
              {...button}
              shortcut={key && characterKeys.value ? keyLabel(key) : undefined}
              onClick={run}
            />
          ),
      )}
    </Group>
  );
}

/** Buttons that belong together. */
export const Group = ({ children }: { children: ComponentChildren }) => <div class="group">{children}</div>;
