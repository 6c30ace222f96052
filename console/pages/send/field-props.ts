import type { FieldSchema } from '../../api/use-send-kinds.ts';

export interface FieldProps {
  name: string;
  schema: FieldSchema;
  required: boolean;
  value: unknown;
  /** The service's error for this field. */
  error?: string | null;
  onChange: (value: unknown) => void;
}
