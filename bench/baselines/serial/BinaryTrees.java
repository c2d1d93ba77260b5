// SPDX-License-Identifier: Apache-2.0
// The same as bench/programs/binary_trees.dhp: java BinaryTrees DEPTH.
final class BinaryTrees {
    static final class Node {
        Node left;
        Node right;

        long check() {
            return 1 + (left != null ? left.check() : 0) + (right != null ? right.check() : 0);
        }
    }

    static Node tree(int depth) {
        Node node = new Node();
        if (depth > 0) {
            node.left = tree(depth - 1);
            node.right = tree(depth - 1);
        }
        return node;
    }

    public static void main(String[] args) {
        int depth = Integer.parseInt(args[0]);
        System.out.println("stretch tree of depth " + (depth + 1) + "\t check: " + tree(depth + 1).check());
        Node longLived = tree(depth);
        for (int d = 4; d <= depth; d += 2) {
            int count = 1 << (depth - d + 4);
            long check = 0;
            for (int i = 0; i < count; i++) {
                check += tree(d).check();
            }
            System.out.println(count + "\t trees of depth " + d + "\t check: " + check);
        }
        System.out.println("long lived tree of depth " + depth + "\t check: " + longLived.check());
    }
}
